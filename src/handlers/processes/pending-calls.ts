/**
 * The unanswered calls of a process, and the requests that it makes. A call whose signal aborts
 * ends for its caller at once; the process is notified, and still has two seconds to answer.
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

  /** `onStuck` is called if a cancelled call is not answered in time. */
  constructor(write: WriteLine, onStuck: () => void) {
    this.#write = write;
    this.#onStuck = onStuck;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Sends a call and waits for its answer. */
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

  /** Finds a call that its caller still waits for. */
  find(id: unknown): ProcessCall | undefined {
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    return pending?.timer === undefined ? pending?.call : undefined;
  }

  /** Finds a call without an answer, cancelled or not. */
  unanswered(id: unknown): ProcessCall | undefined {
    return typeof id === "number" ? this.#pending.get(id)?.call : undefined;
  }

  /** Settles a call with its result; returns false if there is no such call. */
  answer(id: number, result: unknown): boolean {
    try {
      return this.#settle(id, readResult(result));
    } catch (error) {
      return this.#settle(id, error as Error);
    }
  }

  /** Fails a call with the process's reason; returns false if there is no such call. */
  fail(id: number, reason: string): boolean {
    return this.#settle(id, new ProcessFault(`the function failed: ${reason}`));
  }

  /** Fails every call, because no answer can come any more. */
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

/** The maximum of simultaneous requests by one process. */
const MAX_AT_ONCE = 256;
/** The maximum of answers that the process has not read; beyond it the process is ended. */
const MAX_UNREAD = 1_024;
/** The maximum of their characters; a single answer may be longer. */
const MAX_UNREAD_LENGTH = 67_108_864;

/**
 * The requests that a process makes during a call: through every gate, as the agent of that call
 * and with no more authority. They are bounded, and so are answers that the process does not read.
 */
export class ProcessDispatches {
  readonly #calls: Pick<PendingCalls, "find">;
  readonly #write: WriteLine;
  readonly #onFlood: () => void;
  #underWay = 0;
  #unread = 0;
  #unreadLength = 0;

  /** `onFlood` is called for a process that sends requests without reading the answers. */
  constructor(calls: Pick<PendingCalls, "find">, write: WriteLine, onFlood: () => void) {
    this.#calls = calls;
    this.#write = write;
    this.#onFlood = onFlood;
  }

  /** Dispatches a request and answers it. */
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

  /** Answers a request with an unknown method. */
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

/** Octets are sent as UTF-8 text, because the line is JSON. */
function answerLine(id: ForeignId, status: number, body: unknown): string {
  const value = body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : body;
  try {
    return resultLine(id, status, value);
  } catch {
    return errorLine(id, RPC_CODES.fault, "the answer cannot be written as JSON");
  }
}
