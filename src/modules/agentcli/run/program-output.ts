/**
 * The output of a program. The beginning is kept, all of it is counted and hashed, and the rest is let
 * go, so that a program that talks without end neither waits nor fills the memory. Secrets are taken out
 * of it: those that it was given, those of the daemon's own environment, and what looks like a
 * credential whoever it came from. What says that it is JSON is parsed.
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

/** The longest secret, in base64 too: one that the cut goes through must be seen whole to be taken out. */
const MARGIN_BYTES = 131_072;

/** Collects one stream. */
export class CapturedOutput {
  readonly #maxBytes: number;
  readonly #hash = createHash("sha256");
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  /** The number of octets that will be shown. */
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

  /** The number of octets that there were. */
  get bytes(): number {
    return this.#total;
  }

  get isTruncated(): boolean {
    return this.#total > this.#maxBytes;
  }

  /** The part that can be shown once secrets are taken out of it. */
  text(redact: (text: string) => string): string {
    const kept = Buffer.concat(this.#chunks);
    const whole = redact(kept.toString("utf8"));
    // Where not all was kept, what was kept last may be the beginning of a secret.
    const isAll = this.#kept === this.#total;
    const begun = isAll ? whole : redact(kept.toString("utf8", 0, this.#maxBytes));
    const octets = Buffer.from(commonBeginning(begun, whole));
    // A character that the cut goes through is left out.
    let end = this.#maxBytes;
    while (((octets[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    return octets.toString("utf8", 0, end);
  }

  /** Over all of it; to be asked once, at the end. */
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

/** Of the value of an output: what is made of it on its way to the caller costs more than parsing. */
const OUTPUT_BOUNDS: JsonBounds = { depth: MAX_DEPTH, members: 25_000, values: 50_000 };

/**
 * Parses the output of a program that says that it speaks JSON, which must be all of it; what is
 * none is a warning.
 */
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
/** Shorter ones would take ordinary words out. */
const MIN_SECRET_LENGTH = 6;

/** Values of variables whose names say that they are secret. */
export function secretsOf(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
}

/** A redactor that knows these secrets, and what they look like in base64. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const values = secrets.map((secret) => secret.trim());
  const known = values
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .flatMap((secret) => [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")]);
  // The longest first: one may be part of another.
  const ordered = [...new Set(known)].sort((one, other) => other.length - one.length);
  const { spans } = createCredentialRedactor([]);
  return (text) => {
    let redacted = text;
    for (const secret of ordered) redacted = redacted.replaceAll(secret, REDACTED);
    const likely = spans(redacted).map((span) => ({ ...span, replacement: REDACTED }));
    return replaceSpans(redacted, likely);
  };
}
