/**
 * Requests that an HTTP client sends without waiting for the answers: one at a time is begun on a
 * connection, in their order, and while too many wait the socket is not read. What cannot be read
 * is answered last, and what it cut short not at all.   `[limits]`
 */
import type { Socket } from "node:net";

/** A request that is begun when its turn comes. */
export interface Turn {
  /** Tells whether nothing more of it is waited for. */
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
    // A peer that has left gets no further turn.
    socket.once("close", () => this.#waiting.splice(0));
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Nothing more can be read. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Begins at once, or after those before; more than `most` wait only if they came in one piece.
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

  /** Nothing more can be read, which is said once: `answer` is begun after what has arrived whole. */
  fail(answer: () => void): void {
    this.#hasFailed = true;
    const last: Turn = { isComplete: () => true, begin: answer };
    if (this.#waiting.at(-1)?.isComplete() === false) this.#waiting.pop();
    // A request whose octets will not come is not waited for.
    else if (this.#running?.isComplete() === false) this.#running = undefined;
    this.take(last, Number.POSITIVE_INFINITY);
  }

  /** Nothing that is read from now on is a request. */
  end(): void {
    this.#hasFailed = true;
    this.#waiting.splice(0);
  }

  /** A request that was begun is over; the next one waits for its turn of the loop, as others do. */
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
