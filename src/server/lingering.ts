/**
 * The end of a connection. This side is ended after the last reply, and the socket is kept until the
 * peer has closed as well: closing it on a peer that still sends would cost that peer the reply.
 * AGTP "Connection Lifetime"
 */
import type { TLSSocket } from "node:tls";

/** The longest that a silent peer may take to close after the last reply. */
const LINGER_MS = 2_000;

/** One a connection. */
export class Lingering {
  readonly #socket: TLSSocket;
  readonly #maxMs: number;
  #begunAt: number | undefined;
  #heardAt = 0;

  /** A peer that does not fall silent has `maxMs`. */
  constructor(socket: TLSSocket, maxMs: number) {
    this.#socket = socket;
    this.#maxMs = maxMs;
    socket.on("finish", () => this.hear());
  }

  /** Nothing more is sent. */
  begin(): void {
    if (this.#begunAt !== undefined) return;
    this.hear();
    this.#begunAt = this.#heardAt;
    this.#socket.end();
  }

  /** The peer has sent something that is not read any more, or taken the last reply. */
  hear(): void {
    this.#heardAt = performance.now();
  }

  /** The peer has had its time. */
  isOver(now: number): boolean {
    if (this.#begunAt === undefined) return false;
    // Of a socket that was reset while Node wrote a session ticket, no more is ever heard.
    const isSent = this.#socket.writableFinished || this.#socket.readableEnded;
    return (isSent && now - this.#heardAt > LINGER_MS) || now - this.#begunAt > this.#maxMs;
  }
}
