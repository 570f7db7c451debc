/**
 * The outcome of a delegated task: its result, or the refusal that says why there is none; and what
 * an inbox is told of it. An inbox takes no more than so much at once: of a larger outcome the largest
 * members are left out, and named, rather than nothing be told.
 * AGTP "DELEGATE", "NOTIFY"
 */
import { Deadline, raceAbort } from "../../base/deadline.ts";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import { delegationFailed, type WorkOutcome } from "../../dispatch/refusals/delegation-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { MAX_NOTIFICATION_BYTES } from "../../dispatch/routes/floor.ts";
import type { DispatchResult } from "../../handlers/handler.ts";
import { isStatus, isSuccess, type Status } from "../../wire/message.ts";

/** Either of the two, with what was done on the way. */
export type Outcome =
  | {
      readonly kind: "completed";
      /** The task's own. */
      readonly status: Status;
      readonly result: unknown;
      /** Its only call has another answer once an operator has decided. */
      readonly awaitsAnswer?: boolean | undefined;
      readonly priorActions: readonly PriorAction[];
      readonly peer?: PeerEvidence;
    }
  | {
      readonly kind: "failed";
      readonly refusal: Refusal;
      readonly priorActions: readonly PriorAction[];
    };

/** The proof of what a peer says it did. */
interface PeerEvidence {
  readonly name: string;
  readonly server_id: string;
  readonly audit_id: string;
  readonly attribution_record: string;
}

/** The state that a task's own status tells of. */
export function stateOf(status: number): "completed" | "accepted" {
  return status === 202 || status === 261 ? "accepted" : "completed";
}

/** A task that came to nothing. */
export function failed(refusal: Refusal, priorActions: readonly PriorAction[] = []): Outcome {
  return { kind: "failed", refusal, priorActions };
}

/** Say what became of which task, and are small. */
const FACTS: ReadonlySet<string> = new Set([
  ...["delegation_id", "target_agent_id", "task_id", "status", "reason", "outcome"],
]);

/** The content of the notification; `omitted` names what was too large. */
export function outcomeNews(outcome: JsonRecord): JsonRecord {
  const whole = { event_type: "delegation_outcome", ...outcome };
  if (octetsOf(whole) <= MAX_NOTIFICATION_BYTES) return whole;
  const bySize = Object.keys(outcome)
    .filter((name) => !FACTS.has(name))
    .toSorted((one, other) => octetsOf(outcome[other]) - octetsOf(outcome[one]));
  const told: Record<string, unknown> = { ...whole, omitted: [] };
  for (const [index, name] of bySize.entries()) {
    delete told[name];
    told["omitted"] = bySize.slice(0, index + 1);
    if (octetsOf(told) <= MAX_NOTIFICATION_BYTES) break;
  }
  return told;
}

function octetsOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/**
 * The time that a task may take: until its deadline, at most what the server allows, and no longer than
 * somebody waits for it.
 */
export class TaskTime {
  readonly deadline: number;
  readonly #time: Deadline;

  /** `deadline` is in milliseconds since the epoch; `caller` aborts when nobody waits any more. */
  constructor(deadline: number, caller: AbortSignal) {
    this.deadline = deadline;
    this.#time = new Deadline({ signals: [caller], timeoutMs: Math.max(0, deadline - Date.now()) });
  }

  get signal(): AbortSignal {
    return this.#time.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /**
   * The result of the work, unless its time was over before; a fault that comes later is nobody's.
   */
  race<T>(work: Promise<T>): Promise<T | "aborted"> {
    return raceAbort(work, this.signal);
  }

  /** Why the task is over, and what is known of the work. */
  refusal(outcome: WorkOutcome): Refusal {
    if (!this.#time.isTimeOver) {
      return delegationFailed("aborted", "the task was given up before it was done", outcome);
    }
    const explanation = "the task was not done by its deadline";
    const deadline = new Date(this.deadline).toISOString();
    return delegationFailed("deadline", explanation, outcome, { deadline });
  }

  /** Does work in a time of its own, which is over with it. */
  static async of<T>(
    deadline: number,
    caller: AbortSignal,
    work: (time: TaskTime) => Promise<T>,
  ): Promise<T> {
    const time = new TaskTime(deadline, caller);
    try {
      return await work(time);
    } finally {
      time.#time.clear();
    }
  }
}

export type InnerAnswer =
  | { readonly kind: "output"; readonly status: Status; readonly output: unknown }
  | Refusal;

/**
 * Takes the answer of an inner dispatch apart: a refusal is handed on as it is, and an output is taken out of
 * what a floor method wraps around it, where `isWrapped`.   AGTP "EXECUTE"
 */
export function readInnerAnswer(result: DispatchResult, isWrapped: boolean): InnerAnswer {
  const { status, body, headers } = result;
  if (!isStatus(status)) throw new Error(`an inner dispatch answered ${status}`);
  const error = isRecord(body) ? body["error"] : undefined;
  if (!isSuccess(status) && isRecord(body) && isRecord(error)) {
    return refusalOf(status, body, error, headers);
  }
  const output = isWrapped && isEnvelope(body) ? body["result"] : body;
  return { kind: "output", status, output: readable(output) };
}

function isEnvelope(body: unknown): body is JsonRecord {
  return isRecord(body) && typeof body["status"] === "number" && Object.hasOwn(body, "result");
}

/** Its body is made anew of the same members. */
function refusalOf(
  status: Status,
  { error: _, ...carried }: JsonRecord,
  error: JsonRecord,
  headers: DispatchResult["headers"],
): Refusal {
  const { code, message, details } = error;
  return {
    kind: "refusal",
    status,
    code: String(code),
    message: String(message),
    ...(Object.keys(carried).length === 0 ? {} : { carried }),
    ...(details === undefined ? {} : { details }),
    headers,
  };
}

/** Bytes that are no JSON have no other form in a body than their text. */
function readable(output: unknown): unknown {
  return output instanceof Uint8Array ? Buffer.from(output).toString("utf8") : output;
}
