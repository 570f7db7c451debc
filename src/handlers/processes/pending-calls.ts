/**
 * The calls that a process has. One whose signal aborts is over for its caller at once; the process
 * is told, and has two seconds to answer it all the same.
 */
import type { HandlerResult } from "../handler.ts";
import { type ProcessCall, ProcessFault, paramsOf, readResult } from "./process-call.ts";
import { callLine, cancelLine } from "./process-message.ts";

/** Writes a line to the process. */
export type WriteLine = (line: string, done?: () => void) => void;

const ANSWER_MS = 2_000;

interface Pending {
  readonly call: ProcessCall;
  readonly settle: (result: HandlerResult | Error) => void;
  readonly abort: () => void;
  timer: NodeJS.Timeout | undefined;
}

export class PendingCalls {
  readonly #write: WriteLine;
  readonly #onStuck: () => void;
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  /** `onStuck` hears of a cancelled call that was not answered in time. */
  constructor(write: WriteLine, onStuck: () => void) {
    this.#write = write;
    this.#onStuck = onStuck;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Sends a call, and waits for its answer. */
  add(call: ProcessCall): Promise<HandlerResult> {
    const { signal } = call;
    if (signal.aborted) return Promise.reject(over());
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#cancel(id);
      const settle = (result: HandlerResult | Error): void => {
        signal.removeEventListener("abort", abort);
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      this.#pending.set(id, { call, settle, abort, timer: undefined });
      signal.addEventListener("abort", abort, { once: true });
      this.#write(callLine(id, paramsOf(call)));
    });
  }

  /** A call that is not over for its caller. */
  find(id: unknown): ProcessCall | undefined {
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    return pending?.timer === undefined ? pending?.call : undefined;
  }

  /** A call that is not answered, over for its caller or not. */
  unanswered(id: unknown): ProcessCall | undefined {
    return typeof id === "number" ? this.#pending.get(id)?.call : undefined;
  }

  /** Hands a result to its call; false: there is none. */
  answer(id: number, result: unknown): boolean {
    try {
      return this.#settle(id, readResult(result));
    } catch (error) {
      return this.#settle(id, error as Error);
    }
  }

  /** Fails a call with what the process says; false: there is none. */
  fail(id: number, reason: string): boolean {
    return this.#settle(id, new ProcessFault(`the function failed: ${reason}`));
  }

  /** No answer can come any more. */
  failAll(fault: Error): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id, fault);
  }

  #settle(id: number, result: HandlerResult | Error): boolean {
    const pending = this.#pending.get(id);
    if (pending === undefined) return false;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    pending.settle(result);
    return true;
  }

  #cancel(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || pending.timer !== undefined) return;
    pending.timer = setTimeout(this.#onStuck, ANSWER_MS);
    pending.settle(over());
    this.#write(cancelLine(id));
  }
}

function over(): Error {
  return new ProcessFault("the call was ended before its function answered");
}
