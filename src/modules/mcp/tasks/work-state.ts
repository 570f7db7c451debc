/**
 * The state of running work, read from its answer: a run, an escalation, or a delegated task, each in the words of its
 * protocol.   MCP Tasks extension
 */
import { given, isRecord, type JsonRecord, parseJson, recordIn } from "../../../base/json-value.ts";
import { sourceOf } from "../../../base/kept-text.ts";
import type { Answer } from "../ask.ts";
import { bodyText } from "../tools/content.ts";
import type { Following, McpTask } from "./task.ts";

interface WorkAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The requested path. */
  readonly path: string;
}

type WorkState =
  /** The answer says nothing new. */
  | { readonly kind: "unsaid" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "under-way"; readonly message: string }
  | { readonly kind: "over"; readonly isFailed: boolean };

const FAILED: ReadonlySet<unknown> = new Set(["failed", "error", "timeout", "refused"]);
/** A decided question is over, whatever the decision. */
const DECIDED: readonly string[] = ["accepted", "rejected", "expired"];
const ENDED: ReadonlySet<unknown> = new Set(["completed", "success", ...DECIDED, ...FAILED]);

/** Reads the state from an answer. */
export function workState({ status, body, path }: WorkAnswer): WorkState {
  if (followingIn(status, body, path) !== undefined) return { kind: "unsaid" };
  if (isPassing(status, body)) return { kind: "unsaid" };
  const said = isRecord(body) ? saidIn(body) : {};
  const state = stateIn(said);
  if (state === "cancelled") return { kind: "cancelled" };
  if (status === 200 && state !== undefined && !ENDED.has(state)) {
    const { escalation_id: asked } = said;
    // Work that waits for a decision is followed at its escalation, other work at its own path.
    const place = typeof asked === "string" ? `/escalations/${asked}` : path;
    return { kind: "under-way", message: `under way: ${state}, QUERY ${place}` };
  }
  return { kind: "over", isFailed: FAILED.has(state) };
}

/**
 * True if an answer does not change a task: the client asks too often or while the state is unavailable, another call
 * is using the approval, or the answer waits for the call elsewhere.
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

/** The change that completes a task with a result. */
export function completedWith(result: JsonRecord): TaskChange {
  const exact = sourceOf(result["structuredContent"]);
  return { status: "completed", message: "done", result, ...given({ exact }) };
}

/** The change of a task for a state of its work; undefined without news. `end` reads the final answer. */
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
  // A numeric status is the status code of the outcome, not a state.
  return [status, state].find((word) => typeof word === "string");
}

/**
 * Returns the event that an unfinished answer waits for: an operator's decision, or running work at the path that the
 * answer names.   AGTP-API §10.6, docs/approvals.md
 */
export function followingOf({ response, exchange }: Answer): Following | undefined {
  const { status } = response;
  if (!isUnfinished(status)) return undefined;
  return followingIn(status, parseJson(bodyText(response)), exchange.path);
}

/** Returns the event that an answer to a call of `asked` waits for. */
export function followingIn(status: number, body: unknown, asked: string): Following | undefined {
  if (!isUnfinished(status) || !isRecord(body)) return undefined;
  if (status === 262 || body["kind"] === "elicitation") return decisionIn(body);
  const path = placeIn(saidIn(body), asked);
  return path === undefined ? undefined : { kind: "work", method: "QUERY", path };
}

/** Tells a client without tasks where to ask for the final answer. */
export function laterText(following: Following): string {
  return following.kind === "approval"
    ? `An operator has to decide about this call. Once that is done, call agtp_approved_call with escalation_id "${following.escalationId}".`
    : `This is under way. ${following.method} ${following.path} says how far it is.`;
}

/** Tells a client with tasks what its task waits for. */
export function waitingText(following: Following): string {
  if (following.kind === "work") return `under way: ${following.method} ${following.path}`;
  const { escalationId } = following;
  return `waits for an operator: escalation ${escalationId}, QUERY /escalations/${escalationId}`;
}

function isUnfinished(status: number): boolean {
  return status === 202 || status === 261 || status === 262;
}

/** An approval, or the answer to an upstream's question: in both cases the call is made again. */
function decisionIn(body: JsonRecord): Following | undefined {
  const { escalation_id: escalationId, type, kind } = body;
  const isAsked = type === "approval-required" || kind === "elicitation";
  return isAsked && typeof escalationId === "string"
    ? { kind: "approval", escalationId }
    : undefined;
}

/** Reads the path of the work, which each protocol names differently. */
function placeIn(body: JsonRecord, asked: string): string | undefined {
  const { poll, proposal_id: proposalId, eventsUrl, run_id: runId } = body;
  if (isRecord(poll) && typeof poll["path"] === "string") return poll["path"];
  if (typeof proposalId === "string") return `/proposals/${encodeURIComponent(proposalId)}`;
  if (typeof eventsUrl === "string") return eventsUrl.replace(/\/events$/, "");
  return typeof runId === "string" ? `${asked}/runs/${encodeURIComponent(runId)}` : undefined;
}

/** Returns the content of a body; a floor method wraps it in an envelope.   AGTP "Response Body" */
export function saidIn(body: JsonRecord): JsonRecord {
  const { status, result } = body;
  return typeof status === "number" && isRecord(result) ? result : body;
}
