/**
 * The output of a program. The beginning is kept, all of it is counted and hashed, and the rest is
 * let go, so that a program that talks without end neither waits nor fills the memory; what says
 * that it is JSON is parsed.
 */
import { createHash } from "node:crypto";
import { isTooDeep } from "../../../base/nesting.ts";

/** A secret that the cut goes through must be seen whole to be taken out. */
const MARGIN_BYTES = 8_192;

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
    const redacted = redact(Buffer.concat(this.#chunks).toString("utf8"));
    const octets = Buffer.from(redacted);
    if (octets.length <= this.#maxBytes) return redacted;
    // A character that the cut goes through is left out.
    return octets
      .subarray(0, this.#maxBytes)
      .toString("utf8")
      .replace(/\ufffd+$/, "");
  }

  /** Over all of it; to be asked once, at the end. */
  digest(): string {
    return `sha256:${this.#hash.digest("hex")}`;
  }
}

/** A value, or a warning. */
interface StructuredOutput {
  readonly value?: unknown;
  readonly warning?: string;
}

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
