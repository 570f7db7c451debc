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

  /** The peer has not taken what was written: nothing more should be begun for it. */
  get isBlocked(): boolean {
    return this.#blockedSince !== undefined;
  }

  /** Nothing more should be begun before this is flushed. */
  get isFull(): boolean {
    return this.#bytes >= BATCH_BYTES;
  }

  /** How many replies are to be sent. */
  get count(): number {
    return this.#replies.length;
  }

  /** How long the peer has taken nothing, in milliseconds. */
  blockedFor(now: number): number {
    return this.#blockedSince === undefined ? 0 : now - this.#blockedSince;
  }

  add(reply: Response): void {
    this.#replies.push(reply);
    this.#bytes += weigh(reply);
  }

  /** Sends the first `count` replies; false, and nothing is sent, when one of them cannot leave. */
  flush(count: number): boolean {
    const replies = count === this.count ? this.#replies : this.#replies.slice(0, count);
    if (replies.some(isHeldBack)) return false;
    this.#replies = count === this.count ? [] : this.#replies.slice(count);
    this.#bytes = this.#replies.reduce((sum, reply) => sum + weigh(reply), 0);
    if (this.#socket.destroyed || replies.length === 0) return true;
    if (!this.#socket.write(serializeResponses(replies), "latin1")) {
      this.#blockedSince ??= performance.now();
    }
    return true;
  }
}

function weigh({ body }: Response): number {
  return HEAD_BYTES + body.length;
}

/** A reply whose record was not kept. */
function isHeldBack({ lateFields }: Response): boolean {
  return lateFields !== undefined && !lateFields.isKnown;
}
