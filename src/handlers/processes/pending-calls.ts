/**
 * The calls that a process has. One whose signal aborts is over for its caller at once; the process
 * is told, and has two seconds to answer it all the same. With them the requests that it makes.
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { HandlerResult } from "../handler.ts";
import { type ProcessCall, ProcessFault, paramsOf, readResult } from "./process-call.ts";
import {
  callLine,
  cancelLine,
  errorLine,
  type ForeignId,
  RPC_CODES,
  resultLine,
} from "./process-message.ts";

type WriteLine = (line: string, done?: () => void) => void;

const ANSWER_MS = 2_000;

interface Pending {
  readonly call: ProcessCall;
  readonly settle: (result: HandlerResult | Error) => void;
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
      this.#pending.set(id, { call, settle, timer: undefined });
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

/** Requests of one process at once. */
const MAX_AT_ONCE = 256;
/** The most answers that wait to be read; a process that asks for more is ended. */
const MAX_UNREAD = 1_024;
/** And their characters; one answer by itself may be longer. */
const MAX_UNREAD_LENGTH = 67_108_864;

/**
 * Requests that a process makes in the course of a call: through every gate, as the agent of that
 * call and with no more authority. They are bounded, answers that a process does not read included.
 */
export class ProcessDispatches {
  readonly #calls: Pick<PendingCalls, "find">;
  readonly #write: WriteLine;
  readonly #onFlood: () => void;
  #underWay = 0;
  #unread = 0;
  #unreadLength = 0;

  /** `onFlood` hears of a process that asks and does not read. */
  constructor(calls: Pick<PendingCalls, "find">, write: WriteLine, onFlood: () => void) {
    this.#calls = calls;
    this.#write = write;
    this.#onFlood = onFlood;
  }

  /** Answers a request, sooner or later. */
  take(id: ForeignId, params: JsonRecord): void {
    const { call: callId, method, path } = params;
    const input = params["input"] ?? {};
    const call = this.#calls.find(callId);
    if (call === undefined) {
      this.#refuse(id, RPC_CODES.invalidParams, "there is no such call, or not any more");
    } else if (typeof method !== "string" || typeof path !== "string" || !isRecord(input)) {
      const message = "expected call, method, path and, if there is any, input as an object";
      this.#refuse(id, RPC_CODES.invalidParams, message);
    } else if (this.#underWay >= MAX_AT_ONCE) {
      const message = `${MAX_AT_ONCE} requests of this process are not answered yet`;
      this.#refuse(id, RPC_CODES.fault, message);
    } else {
      this.#underWay += 1;
      call.dispatch(method, path, input).then(
        ({ status, body }) => this.#answer(answerLine(id, status, body)),
        () => this.#answer(errorLine(id, RPC_CODES.fault, "the request failed")),
      );
    }
  }

  /** Answers a request for what there is not. */
  refuseMethod(id: ForeignId, method: string): void {
    this.#refuse(id, RPC_CODES.methodNotFound, `there is no method "${method.slice(0, 64)}"`);
  }

  #answer(line: string): void {
    this.#underWay -= 1;
    this.#send(line);
  }

  #refuse(id: ForeignId, code: number, message: string): void {
    this.#send(errorLine(id, code, message));
  }

  #send(line: string): void {
    const isTooMuch = this.#unread > 0 && this.#unreadLength + line.length > MAX_UNREAD_LENGTH;
    if (isTooMuch || this.#unread >= MAX_UNREAD) {
      this.#onFlood();
      return;
    }
    this.#unread += 1;
    this.#unreadLength += line.length;
    this.#write(line, () => {
      this.#unread -= 1;
      this.#unreadLength -= line.length;
    });
  }
}

/** Octets are handed on as text: a line is JSON. */
function answerLine(id: ForeignId, status: number, body: unknown): string {
  const value = body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : body;
  try {
    return resultLine(id, status, value);
  } catch {
    return errorLine(id, RPC_CODES.fault, "the answer cannot be written as JSON");
  }
}
