/**
 * Requests that a process makes in the course of a call: through every gate, as the agent of that
 * call and with no more authority. They are bounded, answers that a process does not read included.
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { PendingCalls, WriteLine } from "./pending-calls.ts";
import { errorLine, type ForeignId, RPC_CODES, resultLine } from "./process-message.ts";

/** Requests of one process at once. */
const MAX_AT_ONCE = 256;
/** The most answers that wait to be read; a process that asks for more is ended. */
const MAX_UNREAD = 1_024;

export class ProcessDispatches {
  readonly #calls: Pick<PendingCalls, "find">;
  readonly #write: WriteLine;
  readonly #onFlood: () => void;
  #underWay = 0;
  #unread = 0;

  /** `onFlood` hears of a process that asks and does not read. */
  constructor(calls: Pick<PendingCalls, "find">, write: WriteLine, onFlood: () => void) {
    this.#calls = calls;
    this.#write = write;
    this.#onFlood = onFlood;
  }

  /** Answers a request, sooner or later. */
  take(id: ForeignId, params: JsonRecord): void {
    const { call: callId, method, path, input = {} } = params;
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
    if (this.#unread >= MAX_UNREAD) {
      this.#onFlood();
      return;
    }
    this.#unread += 1;
    this.#write(line, () => {
      this.#unread -= 1;
    });
  }
}

/** Octets are handed on as text: a line is JSON. */
function answerLine(id: ForeignId, status: number, body: unknown): string {
  const value = body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : body;
  try {
    return resultLine(id, { status, body: value ?? null });
  } catch {
    return errorLine(id, RPC_CODES.fault, "the answer cannot be written as JSON");
  }
}
