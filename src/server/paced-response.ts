/**
 * An HTTP response with bounded memory for slow readers: a long body is written in pieces, each once the peer has
 * read the one before, and queued octets count in the daemon's send budget, as on AGTP connections.   `[limits]`
 * send_buffer_total_bytes
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { SendAccount, SendBudget } from "./connection-limits.ts";

/** The size of a piece. */
const PIECE_BYTES = 64 * 1024;

type Chunk = string | Uint8Array;
type Encoding = BufferEncoding | null | undefined;
type Done = (() => void) | undefined;

/** Returns the response class for a server, over one send budget. */
export function pacedResponses(budget: SendBudget): typeof ServerResponse<IncomingMessage> {
  return class extends PacedResponse {
    constructor(request: IncomingMessage) {
      super(request, budget);
    }
  } as unknown as typeof ServerResponse<IncomingMessage>;
}

class PacedResponse extends ServerResponse<IncomingMessage> {
  readonly #account: SendAccount;
  #isEnding = false;

  constructor(request: IncomingMessage, budget: SendBudget) {
    super(request);
    this.#account = budget.open(() => this.destroy());
    this.on("drain", () => this.#account.take());
    this.once("close", () => this.#account.close());
  }

  override write(chunk: unknown, ...rest: unknown[]): boolean {
    const write = super.write as (...parts: unknown[]) => boolean;
    const isTaken = write.call(this, chunk, ...rest);
    if (isTaken) this.#account.rest();
    else this.#account.wait(this.writableLength);
    return isTaken;
  }

  override end(...parts: unknown[]): this {
    if (this.#isEnding) return this;
    const { chunk, encoding, done } = readParts(parts);
    const isLong = chunk !== undefined && chunk.length > PIECE_BYTES;
    if (!isLong || this.writableEnded || this.req.method === "HEAD") return this.#end(parts);
    const body = typeof chunk === "string" ? Buffer.from(chunk, encoding ?? "utf8") : chunk;
    const isFramed = this.hasHeader("content-length") || this.hasHeader("transfer-encoding");
    if (!this.headersSent && !isFramed) this.setHeader("content-length", body.length);
    this.#isEnding = true;
    this.#account.hold(body);
    this.#pass(body, 0, done);
    return this;
  }

  #pass(body: Uint8Array, from: number, done: Done): void {
    let at = from;
    while (at < body.length && !this.destroyed) {
      const piece = body.subarray(at, at + PIECE_BYTES);
      at += piece.length;
      if (this.write(piece)) continue;
      this.once("drain", () => this.#pass(body, at, done));
      return;
    }
    this.#account.release(body);
    this.#end(done === undefined ? [] : [done]);
  }

  #end(parts: readonly unknown[]): this {
    const end = super.end as (...parts: unknown[]) => this;
    end.call(this, ...parts);
    // The last octets may still be unread.
    if (!this.destroyed && this.writableLength > 0) this.#account.wait(this.writableLength);
    return this;
  }
}

/** Reads the arguments of `end`, each of which is optional. */
function readParts(parts: readonly unknown[]): {
  readonly chunk: Chunk | undefined;
  readonly encoding: Encoding;
  readonly done: Done;
} {
  const [chunk, encoding] = parts;
  const done = parts.find((part): part is () => void => typeof part === "function");
  return {
    chunk: typeof chunk === "string" || chunk instanceof Uint8Array ? chunk : undefined,
    encoding: typeof encoding === "string" ? (encoding as BufferEncoding) : undefined,
    done,
  };
}
