/**
 * Reads the answers of ACP servers as their implementations write them: a run, the verdict of a wait, an agent, a
 * thread. Anything else is malformed.   Agent Connect Protocol "Run", "RunOutput"
 */
import { isRecord, type JsonRecord, recordIn, textIn } from "../../../base/json-value.ts";
import { type AcpAnswer, type AcpFailure, malformed } from "./acp-call.ts";

/** The statuses of a run at its server. */
const RUN_STATUSES = ["pending", "error", "success", "timeout", "interrupted"] as const;
export type AcpRunStatus = (typeof RUN_STATUSES)[number];

/** A run as its server describes it. */
export interface AcpRun {
  readonly runId: string;
  readonly status: AcpRunStatus;
  readonly metadata: JsonRecord;
}

/** The outcome of waiting for a run. */
export type Verdict =
  | { readonly kind: "pending" }
  | { readonly kind: "success"; readonly output: unknown }
  /** Undefined if the server does not say for which interrupt. */
  | { readonly kind: "interrupted"; readonly interrupt: unknown }
  | { readonly kind: "error"; readonly errcode?: number; readonly description?: string }
  | { readonly kind: "timeout"; readonly description?: string };

/** An agent as its server describes it. */
export interface AcpAgent {
  readonly agentId: string;
  readonly name: string | undefined;
  readonly version: string | undefined;
}

/** A thread as its server describes it. */
export interface AcpThread {
  readonly threadId: string;
  readonly status: string | undefined;
  readonly values: unknown;
  readonly metadata: JsonRecord;
}

const MAX_ID_LENGTH = 256;
const MAX_DESCRIPTION_LENGTH = 2000;

/** Undefined if it is no run. */
export function readRun(value: unknown): AcpRun | undefined {
  if (!isRecord(value)) return undefined;
  const { run_id: runId, status: written = "pending" } = value;
  const status = RUN_STATUSES.find((one) => one === written);
  if (!isId(runId) || status === undefined) return undefined;
  const created = recordIn(recordIn(value["creation"])["metadata"]);
  return { runId, status, metadata: { ...created, ...recordIn(value["metadata"]) } };
}

/** The status by type of output, for servers that state no status. */
const STATUS_OF: ReadonlyMap<unknown, AcpRunStatus> = new Map([
  ["result", "success"],
  ["interrupt", "interrupted"],
  ["error", "error"],
]);

/** Undefined if it is no answer of `wait`; an empty answer means a timeout. */
export function readVerdict(value: unknown): Verdict | undefined {
  if (value === undefined) return { kind: "pending" };
  if (!isRecord(value)) return undefined;
  const output = recordIn(value["output"]);
  const written = recordIn(value["run"])["status"] ?? STATUS_OF.get(output["type"]);
  const status = RUN_STATUSES.find((one) => one === written);
  switch (status) {
    case undefined:
      return undefined;
    case "pending":
      return { kind: "pending" };
    case "interrupted":
      return { kind: "interrupted", interrupt: output["interrupt"] };
    case "success":
      return { kind: "success", output: output["values"] ?? null };
    case "error":
    case "timeout":
      return { kind: status, ...readError(output) };
  }
}

function readError(output: JsonRecord): { errcode?: number; description?: string } {
  const { errcode, description } = output;
  return {
    ...(typeof errcode === "number" && Number.isSafeInteger(errcode) ? { errcode } : {}),
    ...(typeof description === "string" && description !== ""
      ? { description: description.slice(0, MAX_DESCRIPTION_LENGTH) }
      : {}),
  };
}

/** Undefined if it is no agent. */
export function readAgent(value: unknown): AcpAgent | undefined {
  if (!isRecord(value) || !isId(value["agent_id"])) return undefined;
  return { agentId: value["agent_id"], ...readReference(value["metadata"]) };
}

/** The name and version in an agent's metadata, if present. */
export function readReference(metadata: unknown): Pick<AcpAgent, "name" | "version"> {
  const { name, version } = recordIn(recordIn(metadata)["ref"]);
  return { name: textIn(name), version: textIn(version) };
}

/** Undefined if it is no thread. */
export function readThread(value: unknown): AcpThread | undefined {
  if (!isRecord(value) || !isId(value["thread_id"])) return undefined;
  const { status, metadata } = value;
  return {
    threadId: value["thread_id"],
    status: textIn(status)?.slice(0, 64),
    values: value["values"],
    metadata: recordIn(metadata),
  };
}

/** Tells whether a value is a server's id that can be encoded into a path. */
export function isId(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_ID_LENGTH) return false;
  // Encoding keeps dots, and a segment of only dots changes the path.
  return value !== "" && value !== "." && value !== "..";
}

export type AcpOutcome<Value> = { readonly kind: "ok"; readonly value: Value } | AcpFailure;

/** Reads the value of an answer; an unreadable one is malformed. */
export function toOutcome<Value>(
  answer: AcpAnswer,
  read: (body: unknown) => Value | undefined,
): AcpOutcome<Value> {
  if (answer.kind === "failed") return answer;
  const value = read(answer.body);
  return value === undefined ? malformed("is not what ACP says") : { kind: "ok", value };
}
