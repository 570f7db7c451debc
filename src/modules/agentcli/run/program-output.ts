/**
 * The output of a program. The beginning is kept, everything is counted and hashed, and the rest is dropped, so that
 * endless output neither blocks the program nor fills memory. Secrets are redacted: the program's, the daemon's
 * environment's, and likely credentials from any source. Output declared as JSON is parsed.
 */
import { createHash } from "node:crypto";
import type { Environment } from "../../../base/environment.ts";
import { type JsonBounds, jsonExcess } from "../../../base/json-bounds.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import {
  createRedactor as createCredentialRedactor,
  replaceSpans,
} from "../../../base/redaction.ts";
import { REDACTED } from "../identity/session.ts";

/** The maximum length of a secret, also in base64: one cut at the limit must be kept whole to be redacted. */
const MARGIN_BYTES = 131_072;

/** Collects one stream. */
export class CapturedOutput {
  readonly #maxBytes: number;
  readonly #hash = createHash("sha256");
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  /** `maxBytes` is the number of octets that may be shown. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    this.#hash.update(chunk);
    const room = this.#maxBytes + MARGIN_BYTES - this.#kept;
    if (room <= 0) return;
    const piece = chunk.subarray(0, room);
    this.#chunks.push(piece);
    this.#kept += piece.length;
  }

  /** The total number of octets. */
  get bytes(): number {
    return this.#total;
  }

  get isTruncated(): boolean {
    return this.#total > this.#maxBytes;
  }

  /** Returns the redacted text up to the limit. */
  text(redact: (text: string) => string): string {
    const kept = Buffer.concat(this.#chunks);
    const whole = redact(kept.toString("utf8"));
    // A truncated buffer may end within a secret.
    const isAll = this.#kept === this.#total;
    const begun = isAll ? whole : redact(kept.toString("utf8", 0, this.#maxBytes));
    const octets = Buffer.from(commonBeginning(begun, whole));
    // A character that is cut is dropped.
    let end = this.#maxBytes;
    while (((octets[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    return octets.toString("utf8", 0, end);
  }

  /** The digest of the whole stream; call once, at the end. */
  digest(): string {
    return `sha256:${this.#hash.digest("hex")}`;
  }
}

function commonBeginning(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return one.slice(0, at);
}

interface StructuredOutput {
  readonly value?: unknown;
  readonly warning?: string;
}

/** The bounds of parsed output; its later processing costs more than parsing. */
const OUTPUT_BOUNDS: JsonBounds = { depth: MAX_DEPTH, members: 25_000, values: 50_000 };

/** Parses output declared as JSON, which must be complete; invalid output gives a warning. */
export function parseStructured(
  text: string,
  format: "json" | "ndjson",
  isTruncated: boolean,
): StructuredOutput {
  if (isTruncated) return { warning: `output.format is ${format}, but the output was cut off` };
  const excess = jsonExcess(Buffer.from(text), OUTPUT_BOUNDS);
  if (excess !== undefined) return { warning: `the output ${excess}: it is shown as text alone` };
  try {
    const value: unknown =
      format === "json" ? JSON.parse(text) : text.split("\n").flatMap(parseLine);
    return isTooDeep(value) ? { warning: "the output is nested too deeply" } : { value };
  } catch {
    return { warning: `output.format is ${format}, but the output is not` };
  }
}

function parseLine(line: string): readonly unknown[] {
  return line.trim() === "" ? [] : [JSON.parse(line) as unknown];
}

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_KEY|ACCESS_KEY/i;
/** Shorter values would redact ordinary words. */
const MIN_SECRET_LENGTH = 6;

/** The values of variables with secret-like names. */
export function secretsOf(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
}

/** Creates a redactor of these secrets, plain or in base64, and of likely credentials. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const values = secrets.map((secret) => secret.trim());
  const known = values
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .flatMap((secret) => [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")]);
  // Longest first, since one secret may contain another.
  const ordered = [...new Set(known)].sort((one, other) => other.length - one.length);
  const { spans } = createCredentialRedactor([]);
  return (text) => {
    let redacted = text;
    for (const secret of ordered) redacted = redacted.replaceAll(secret, REDACTED);
    const likely = spans(redacted).map((span) => ({ ...span, replacement: REDACTED }));
    return replaceSpans(redacted, likely);
  };
}
