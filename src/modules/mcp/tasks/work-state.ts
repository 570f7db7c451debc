/**
 * How work under way stands, by what its place answers: a run, an escalation, a delegated task. Each
 * says so in its protocol's own words.   MCP Tasks extension
 */
import { given, isRecord, type JsonRecord, parseJson, recordIn } from "../../../base/json-value.ts";
import { sourceOf } from "../../../base/kept-text.ts";
import type { Answer } from "../ask.ts";
import { bodyText } from "../tools/content.ts";
import type { Following, McpTask } from "./task.ts";

interface WorkAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The path that was asked. */
  readonly path: string;
}

type WorkState =
  /** Nothing new is known. */
  | { readonly kind: "unsaid" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "under-way"; readonly message: string }
  | { readonly kind: "over"; readonly isFailed: boolean };

const FAILED: ReadonlySet<unknown> = new Set(["failed", "error", "timeout", "refused"]);
/** A question that was decided is over, whatever was decided. */
const DECIDED: readonly string[] = ["accepted", "rejected", "expired"];
const ENDED: ReadonlySet<unknown> = new Set(["completed", "success", ...DECIDED, ...FAILED]);

/** Reads an answer. */
export function workState({ status, body, path }: WorkAnswer): WorkState {
  if (followingIn(status, body, path) !== undefined) return { kind: "unsaid" };
  if (isPassing(status, body)) return { kind: "unsaid" };
  const said = isRecord(body) ? saidIn(body) : {};
  const state = stateIn(said);
  if (state === "cancelled") return { kind: "cancelled" };
  if (status === 200 && state !== undefined && !ENDED.has(state)) {
    const { escalation_id: asked } = said;
    // Work that asks is decided about there, and else is looked at where it is.
    const place = typeof asked === "string" ? `/escalations/${asked}` : path;
    return { kind: "under-way", message: `under way: ${state}, QUERY ${place}` };
  }
  return { kind: "over", isFailed: FAILED.has(state) };
}

/**
 * Tells whether an answer leaves a task where it is: its client asks too often or while nothing can be
 * said, another call has the approval and is not over, or the answer waits for the call elsewhere.
 */
export function isPassing(status: number, body: unknown): boolean {
  if (status === 429 || status === 503) return true;
  if (status !== 409) return false;
  const { reason, outcome } = recordIn(body);
  return reason === "approval-elsewhere" || (reason === "approval-used" && outcome === "running");
}

export type TaskChange = Partial<
  Pick<McpTask, "status" | "message" | "result" | "exact" | "error" | "following" | "scopes">
>;

/** The change of a task that has come to a result. */
export function completedWith(result: JsonRecord): TaskChange {
  const exact = sourceOf(result["structuredContent"]);
  return { status: "completed", message: "done", result, ...given({ exact }) };
}

/** The change of a task by how its work stands; undefined: nothing new. `end` reads the last answer. */
export function changeByWork(
  state: WorkState,
  { message: before }: Pick<McpTask, "message">,
  end: () => TaskChange,
): TaskChange | undefined {
  switch (state.kind) {
    case "unsaid":
      return undefined;
    case "cancelled":
      return { status: "cancelled", message: "cancelled" };
    case "under-way":
      return state.message === before ? undefined : { message: state.message };
    case "over": {
      const over = end();
      return state.isFailed ? { ...over, result: { ...over.result, isError: true } } : over;
    }
  }
}

function stateIn({ status, state }: JsonRecord): string | undefined {
  // Where a status is a number, it is that of what was done.
  return [status, state].find((word) => typeof word === "string");
}

/**
 * The sequel of an answer that is not the last word: the word of an operator, or
 * work under way, by the place that the answer itself names.   AGTP-API §10.6, docs/approvals.md
 */
export function followingOf({ response, exchange }: Answer): Following | undefined {
  const { status } = response;
  if (!isUnfinished(status)) return undefined;
  return followingIn(status, parseJson(bodyText(response)), exchange.path);
}

/** Reads from a status and a body how the call of a path is followed. */
export function followingIn(status: number, body: unknown, asked: string): Following | undefined {
  if (!isUnfinished(status) || !isRecord(body)) return undefined;
  if (status === 262 || body["kind"] === "elicitation") return decisionIn(body);
  const path = placeIn(saidIn(body), asked);
  return path === undefined ? undefined : { kind: "work", method: "QUERY", path };
}

/** Says to a client that knows no tasks where to ask for the last word. */
export function laterText(following: Following): string {
  return following.kind === "approval"
    ? `An operator has to decide about this call. Once that is done, call agtp_approved_call with escalation_id "${following.escalationId}".`
    : `This is under way. ${following.method} ${following.path} says how far it is.`;
}

/** Says to a client that knows tasks what its task waits for. */
export function waitingText(following: Following): string {
  if (following.kind === "work") return `under way: ${following.method} ${following.path}`;
  const { escalationId } = following;
  return `waits for an operator: escalation ${escalationId}, QUERY /escalations/${escalationId}`;
}

function isUnfinished(status: number): boolean {
  return status === 202 || status === 261 || status === 262;
}

/** A call that is to be approved, or the answer to what its upstream asks: the call is made again. */
function decisionIn(body: JsonRecord): Following | undefined {
  const { escalation_id: escalationId, type, kind } = body;
  const isAsked = type === "approval-required" || kind === "elicitation";
  return isAsked && typeof escalationId === "string"
    ? { kind: "approval", escalationId }
    : undefined;
}

/** Protocols name the place in ways of their own. */
function placeIn(body: JsonRecord, asked: string): string | undefined {
  const { poll, proposal_id: proposalId, eventsUrl, run_id: runId } = body;
  if (isRecord(poll) && typeof poll["path"] === "string") return poll["path"];
  if (typeof proposalId === "string") return `/proposals/${encodeURIComponent(proposalId)}`;
  if (typeof eventsUrl === "string") return eventsUrl.replace(/\/events$/, "");
  return typeof runId === "string" ? `${asked}/runs/${encodeURIComponent(runId)}` : undefined;
}

/** The content of a body; a floor method has it in an envelope.   AGTP "Response Body" */
export function saidIn(body: JsonRecord): JsonRecord {
  const { status, result } = body;
  return typeof status === "number" && isRecord(result) ? result : body;
}
