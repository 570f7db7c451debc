/**
 * The sequel of an answer that is not the last word: the word of an operator, or
 * work under way, by the place that the answer itself names.   AGTP-API §10.6, docs/approvals.md
 */
import { isRecord, type JsonRecord, parseJson } from "../../../base/json-value.ts";
import type { Answer } from "../ask.ts";
import { bodyText } from "../tools/answer-body.ts";
import type { Following } from "./task.ts";

/** Undefined: the answer is the last word. */
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
