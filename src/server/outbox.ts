/**
 * Replies on their way to the peer: those to pipelined requests leave in one write, and a peer that
 * does not read is noticed before they pile up.   AGTP "Connection Lifetime"
 */
import type { TLSSocket } from "node:tls";
import type { Response } from "../wire/message.ts";
import { serializeResponses } from "../wire/serialize.ts";

/** With about so much collected it should be written; one reply may be longer. */
const BATCH_BYTES = 64 * 1024;

/** What a head takes, roughly. */
const HEAD_BYTES = 256;

/** One a connection. */
export class Outbox {
  readonly #socket: TLSSocket;
  #replies: Response[] = [];
  #bytes = 0;
  #blockedSince: number | undefined;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("drain", () => {
      this.#blockedSince = undefined;
    });
  }

  get isEmpty(): boolean {
    return this.#replies.length === 0;
  }

  /** The peer has not taken what was written: nothing more should be begun for it. */
  get isBlocked(): boolean {
    return this.#blockedSince !== undefined;
  }

  /** Nothing more should be begun before this is flushed. */
  get isFull(): boolean {
    return this.#bytes >= BATCH_BYTES;
  }

  /** How long the peer has taken nothing, in milliseconds. */
  blockedFor(now: number): number {
    return this.#blockedSince === undefined ? 0 : now - this.#blockedSince;
  }

  add(reply: Response): void {
    this.#replies.push(reply);
    this.#bytes += HEAD_BYTES + reply.body.length;
  }

  flush(): void {
    if (this.isEmpty) return;
    const replies = this.#replies;
    this.#replies = [];
    this.#bytes = 0;
    if (this.#socket.destroyed || this.#socket.write(serializeResponses(replies), "latin1")) return;
    this.#blockedSince ??= performance.now();
  }
}
