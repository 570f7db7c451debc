/**
 * The outcome of a delegated task (its result, or the refusal), and the notification of it. A notification is bounded,
 * so a larger outcome is sent without its largest members, which are named.
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

/** A result or a refusal, with the actions taken on the way. */
export type Outcome =
  | {
      readonly kind: "completed";
      /** The task's own status. */
      readonly status: Status;
      readonly result: unknown;
      /** True if the task's only call gets another answer once an operator has decided. */
      readonly awaitsAnswer?: boolean | undefined;
      readonly priorActions: readonly PriorAction[];
      readonly peer?: PeerEvidence;
    }
  | {
      readonly kind: "failed";
      readonly refusal: Refusal;
      readonly priorActions: readonly PriorAction[];
    };

/** The evidence of a peer's work. */
interface PeerEvidence {
  readonly name: string;
  readonly server_id: string;
  readonly audit_id: string;
  readonly attribution_record: string;
}

/** The state that a task's own status stands for. */
export function stateOf(status: number): "completed" | "accepted" {
  return status === 202 || status === 261 ? "accepted" : "completed";
}

/** Builds the outcome of a failed task. */
export function failed(refusal: Refusal, priorActions: readonly PriorAction[] = []): Outcome {
  return { kind: "failed", refusal, priorActions };
}

/** Small members that identify the task and its end, hence never omitted. */
const FACTS: ReadonlySet<string> = new Set([
  ...["delegation_id", "target_agent_id", "task_id", "status", "reason", "outcome"],
]);

/** The content of the notification; `omitted` names the members left out. */
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

/** The time of a task: until its deadline, which the server bounds, or until its caller stops waiting. */
export class TaskTime {
  readonly deadline: number;
  readonly #time: Deadline;

  /** `deadline` is in milliseconds since the epoch; `caller` aborts when the caller stops waiting. */
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

  /** Returns the result of the work, or "aborted" if the time ends first; a later fault is ignored. */
  race<T>(work: Promise<T>): Promise<T | "aborted"> {
    return raceAbort(work, this.signal);
  }

  /** The refusal of a task whose time has ended; `outcome` is the known state of the work. */
  refusal(outcome: WorkOutcome): Refusal {
    if (!this.#time.isTimeOver) {
      return delegationFailed("aborted", "the task was given up before it was done", outcome);
    }
    const explanation = "the task was not done by its deadline";
    const deadline = new Date(this.deadline).toISOString();
    return delegationFailed("deadline", explanation, outcome, { deadline });
  }

  /** Runs work within a new time, whose timer is cleared afterwards. */
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
 * Reads the answer of an inner dispatch: a refusal is passed on unchanged, and an output is taken out of a floor
 * method's envelope if `isWrapped`.   AGTP "EXECUTE"
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

/** Rebuilds a refusal from the members of its body. */
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

/** Returns bytes that are not JSON as text, the only form a body has for them. */
function readable(output: unknown): unknown {
  return output instanceof Uint8Array ? Buffer.from(output).toString("utf8") : output;
}
