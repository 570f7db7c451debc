/**
 * Paces the reading of answers. A server may send each octet in a chunk of its own, and a chunk
 * costs the loop far more than its octets: only so many chunks of an answer are read in one turn. A
 * long answer is processed in a turn of its own.   RFC 9112 §7.1
 */
import type { Dispatcher } from "undici";
import { LONG_OCTETS } from "../base/json-bounds.ts";
import { LoopTurns } from "../base/loop-turns.ts";

/** Turns apart from those of requests, so that long requests delay no answers. */
const turns = new LoopTurns();
/** The chunks of one answer that are read in one turn; well-behaved servers send thousands of octets in each. */
const PIECES_A_TURN = 128;

/** The turn in which a long answer may be processed; undefined if it is short and needs none of its own. */
export function turnOfLong(octets: number): Promise<void> | undefined {
  return octets > LONG_OCTETS ? turns.turn() : undefined;
}

/** Limits the chunks of each answer that are read in one turn. */
export const pacePieces: Dispatcher.DispatcherComposeInterceptor =
  (dispatch) => (options, handler) =>
    dispatch(options, new PacedHandler(handler));

type Controller = Dispatcher.DispatchController;

class PacedHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  #controller: PacedController | undefined;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#controller = undefined;
    this.#handler.onRequestStart?.(this.#pacing(controller), context);
  }

  onRequestUpgrade(controller: Controller, ...rest: Upgraded): void {
    this.#handler.onRequestUpgrade?.(this.#pacing(controller), ...rest);
  }

  onResponseStart(controller: Controller, ...rest: Started): void {
    this.#handler.onResponseStart?.(this.#pacing(controller), ...rest);
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    const pacing = this.#pacing(controller);
    this.#handler.onResponseData?.(pacing, piece);
    pacing.count();
  }

  onResponseEnd(controller: Controller, trailers: Ended): void {
    this.#handler.onResponseEnd?.(this.#pacing(controller), trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#handler.onResponseError?.(this.#pacing(controller), error);
  }

  #pacing(controller: Controller): PacedController {
    this.#controller ??= new PacedController(controller);
    return this.#controller;
  }
}

type Rest<Method extends keyof Dispatcher.DispatchHandler> =
  Required<Dispatcher.DispatchHandler>[Method] extends (
    controller: Controller,
    ...rest: infer Rest
  ) => void
    ? Rest
    : never;
type Upgraded = Rest<"onRequestUpgrade">;
type Started = Rest<"onResponseStart">;
type Ended = Rest<"onResponseEnd">[0];

/** Pauses the connection while its reader asks for it, or while its turn is used up. */
class PacedController implements Controller {
  readonly #controller: Controller;
  #pieces = 0;
  #isOver = false;
  #isPaused = false;

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  get aborted(): boolean {
    return this.#controller.aborted;
  }

  get paused(): boolean {
    return this.#controller.paused;
  }

  get reason(): Error | null {
    return this.#controller.reason;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  pause(): void {
    this.#isPaused = true;
    this.#controller.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#isOver) this.#controller.resume();
  }

  /** Counts a chunk, and ends the turn after every PIECES_A_TURN. */
  count(): void {
    this.#pieces += 1;
    if (this.#pieces % PIECES_A_TURN !== 0) return;
    this.#isOver = true;
    this.#controller.pause();
    setImmediate(() => {
      this.#isOver = false;
      if (!this.#isPaused) this.#controller.resume();
    });
  }
}
