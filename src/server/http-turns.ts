/**
 * Orders the pipelined requests of one HTTP connection: they start one at a time and in order, and the socket is not
 * read while too many wait. An unparsable request is answered last, and the request it truncated not at all.
 * `[limits]`
 */
import type { Socket } from "node:net";

/** A request that starts when its turn comes. */
export interface Turn {
  /** True if nothing more of the request is awaited. */
  isComplete(): boolean;
  begin(): void;
}

export class HttpTurns {
  readonly #socket: Socket;
  readonly #waiting: Turn[] = [];
  #running: Turn | undefined;
  #isPaused = false;
  #hasFailed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // The peer has disconnected.
    socket.once("close", () => this.#waiting.splice(0));
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** True once nothing more can be parsed. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Starts the request, or queues it behind earlier ones. Beyond `most` queued, the socket is paused; only requests
   * of the same chunk can exceed it.
   */
  take(turn: Turn, most: number): void {
    if (this.#running === undefined) {
      this.#running = turn;
      turn.begin();
      return;
    }
    this.#waiting.push(turn);
    if (this.#waiting.length < most || this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** Stops parsing for good; `answer` starts after the requests that arrived complete. */
  fail(answer: () => void): void {
    this.#hasFailed = true;
    const last: Turn = { isComplete: () => true, begin: answer };
    if (this.#waiting.at(-1)?.isComplete() === false) this.#waiting.pop();
    // A request whose remaining octets cannot arrive is not awaited.
    else if (this.#running?.isComplete() === false) this.#running = undefined;
    this.take(last, Number.POSITIVE_INFINITY);
  }

  /** Ignores everything that is read from now on. */
  end(): void {
    this.#hasFailed = true;
    this.#waiting.splice(0);
  }

  /** Ends a started request; the next one starts in a later turn of the event loop. */
  over(turn: Turn): void {
    if (this.#running !== turn) return;
    const next = this.#waiting.shift();
    this.#running = next;
    if (this.#isPaused && this.#waiting.length === 0) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    if (next === undefined) return;
    setImmediate(() => {
      if (this.#running === next && !this.#socket.destroyed) next.begin();
    });
  }
}
