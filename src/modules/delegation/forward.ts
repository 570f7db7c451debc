/**
 * Delegates a task to an agent of a peer: signs the links, sends the task, and trusts the answer only as far as the
 * peer's record proves it. 550, with the known state of the work, if the peer is unreachable, does not answer or its
 * agent failed · 551 if a link or the record does not hold.   AGTP "DELEGATE"
 */

import type { KeyObject } from "node:crypto";
import { hash } from "node:crypto";
import { given, isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Delegation, DelegationLink, PriorAction } from "../../dispatch/caller/delegation.ts";
import {
  chainBroken,
  delegationFailed,
  type WorkOutcome,
} from "../../dispatch/refusals/delegation-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { isAgentId, isSha256 } from "../../identity/identifiers.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { verifyRecord } from "../../state/records/verify-record.ts";
import { isDone, isStatus, isSuccess, type Status } from "../../wire/message.ts";
import { isCredible, type VouchingRules } from "./chain.ts";
import type { Performance } from "./delegate.ts";
import { failed, type Outcome } from "./outcome.ts";
import type { PeerAnswer, PeerCaller, PeerMessage } from "./peer-clients.ts";
import type { PeerServer } from "./peers.ts";
import { taskHash } from "./request.ts";
import { signToken } from "./token.ts";

interface ForwardOptions {
  /** Undefined: no task can be delegated to peers. */
  readonly key: KeyObject | undefined;
  readonly caller: PeerCaller;
  readonly vouching: VouchingRules;
}

const GRACE_MS = 1_000;

/** Sends a task and judges the answer. */
export async function forward(
  options: ForwardOptions,
  peer: PeerServer,
  task: Performance,
): Promise<Outcome> {
  const { taskId, escalationId, time, request } = task;
  const { delegation } = task.hop;
  const digest = taskHash(request.written);
  const { key } = options;
  if (digest === undefined || key === undefined) {
    const explanation = "the task cannot be signed, and is not handed on without a signature";
    return failed(delegationFailed("peer-untrusted", explanation, "not-begun"));
  }
  const tokens = await signLinks({ ...options, key }, peer, delegation, digest);
  const link = delegation.links.at(-1);
  const message: PeerMessage = {
    agentId: link?.agentId ?? "",
    ...{ taskId, escalationId, zone: delegation.zone },
    body: bodyOf(task, tokens, link),
    // `GRACE_MS` lets the signal, not this timeout, report the deadline.
    timeoutMs: Math.min(peer.timeoutMs, Math.max(0, time.deadline - Date.now()) + GRACE_MS),
    signal: time.signal,
  };
  const answer = await options.caller.call(peer, message);
  if (answer.kind === "answered") return judge(answer, message, peer, delegation, options);
  if (time.isOver) return failed(time.refusal(answer.outcome));
  const { reason, message: explanation, outcome } = answer;
  return failed(delegationFailed(reason, explanation, outcome, named(peer)));
}

/** Returns the links as tokens, oldest first; those of this server are signed now. */
async function signLinks(
  { vouching: { serverId }, key }: ForwardOptions & { readonly key: KeyObject },
  peer: PeerServer,
  { links, deadline, zone }: Delegation,
  digest: string,
): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (const [index, { agentId, target, scopes, token }] of links.entries()) {
    const isLast = index === links.length - 1;
    const claims = {
      issuer: serverId,
      subject: agentId,
      audience: isLast ? peer.serverId : serverId,
      target,
      scopes,
      chain: tokens.map((one) => hash("sha256", one)),
      deadline,
      id: uuidv7(),
      taskHash: digest,
      ...given({ zone }),
    };
    tokens.push(token ?? (await signToken(claims, key, Date.now())));
  }
  return tokens;
}

function bodyOf(
  { request: { written }, taskId, hop: { delegation } }: Performance,
  tokens: readonly string[],
  link: DelegationLink | undefined,
): string {
  const earlier = tokens.slice(0, -1);
  const parameters = {
    target_agent_id: link?.target,
    task: written,
    authority_scope: link?.scopes,
    delegation_token: tokens.at(-1),
    ...(earlier.length === 0 ? {} : { delegation_chain: earlier }),
    deadline: new Date(delegation.deadline).toISOString(),
  };
  return JSON.stringify({ method: "DELEGATE", task_id: taskId, parameters });
}

/** Accepts only what the peer's record proves. */
async function judge(
  answer: Answered,
  message: PeerMessage,
  peer: PeerServer,
  delegation: Delegation,
  { vouching }: ForwardOptions,
): Promise<Outcome> {
  const { status, body } = answer;
  const record = verifyPeerRecord(answer, message, peer);
  const link = linkOf(delegation, peer);
  if (typeof record === "string") {
    const explanation = `the peer answered ${status}, which is not proved: ${record}`;
    return failed(chainBroken("record-unverified", explanation, link, { outcome: "unknown" }));
  }
  const priorActions = priorActionsOf(record.payload, peer);
  const credible = await Promise.all(priorActions.map((one) => isCredible(vouching, peer, one)));
  if (credible.includes(false)) {
    const explanation =
      "the peer's record names an action of this server's agent that there is not";
    return failed(chainBroken("record-unverified", explanation, link, { outcome: "unknown" }));
  }
  if (!isStatus(status) || !isRecord(body)) {
    const explanation = `the peer answered ${status} with a body that is none of AGTP`;
    const refusal = delegationFailed("peer-malformed", explanation, "unknown", named(peer));
    return failed(refusal, priorActions);
  }
  if (!isSuccess(status)) return failed(peerFailed(status, body, peer, link), priorActions);
  if (!isProved(priorActions, delegation)) {
    const explanation = "the peer's record names nothing that its agent did";
    return failed(chainBroken("record-unverified", explanation, link, { outcome: "unknown" }));
  }
  const evidence = { audit_id: record.auditId, attribution_record: record.jws };
  return {
    kind: "completed",
    ...taskOf(status, body),
    priorActions,
    peer: { name: peer.name, server_id: peer.serverId, ...evidence },
  };
}

/** Returns the task's own status and result from DELEGATE's envelope, or else the answer's. */
function taskOf(status: Status, body: JsonRecord): { readonly status: Status; result: unknown } {
  const { result } = body;
  if (!isRecord(result) || !Object.hasOwn(result, "result")) {
    return { status, result: result ?? body };
  }
  const { status: own } = result;
  const isOwn = typeof own === "number" && isStatus(own) && isDone(own);
  return { status: isOwn ? own : status, result: result["result"] };
}

function isProved(priorActions: readonly PriorAction[], { links }: Delegation): boolean {
  const target = links.at(-1)?.target;
  // The peer resolved the name, and its record has the Agent-ID instead.
  const isNamed = target !== undefined && !isAgentId(target);
  return priorActions.some(({ agent_id: agentId }) => isNamed || agentId === target);
}

/** Maps the peer's refusal; a chain that breaks at the peer is broken here. */
function peerFailed(
  status: number,
  { error, ...carried }: JsonRecord,
  peer: PeerServer,
  link: ReturnType<typeof linkOf>,
): Refusal {
  const { sub_agent: inner, outcome } = carried;
  const subAgent = { server_id: peer.serverId, status, error: isRecord(error) ? error : null };
  const message = isRecord(error) && typeof error["message"] === "string" ? error["message"] : "";
  if (status === 551) {
    const further = isRecord(carried["link"]) ? { peer_link: carried["link"] } : {};
    const explanation = `the peer does not accept the chain: ${message.slice(0, 500)}`;
    const known = outcome === "unknown" ? { outcome } : {};
    return chainBroken("chain", explanation, link, { ...further, ...known, sub_agent: subAgent });
  }
  const explanation = `the peer answered ${status}: ${message.slice(0, 500)}`;
  // Both servers watch the deadline, so either one's expiry gives the same reason.
  const isLate = status === 550 && carried["reason"] === "deadline";
  const reason = isLate ? "deadline" : "sub-agent-failed";
  return delegationFailed(reason, explanation, outcomeOf(status, outcome), {
    sub_agent: isRecord(inner) ? { ...subAgent, sub_agent: inner } : subAgent,
  });
}

/** The state of the work, by the peer's statement or its status. */
function outcomeOf(status: number, written: unknown): WorkOutcome {
  if (status < 500) return "not-begun";
  if (status !== 550) return "unknown";
  return written === "not-begun" || written === "failed" ? written : "unknown";
}

function named({ name, serverId }: PeerServer): JsonRecord {
  return { peer: { name, server_id: serverId } };
}

function linkOf({ links }: Delegation, { serverId }: PeerServer) {
  const { agentId = "", target = "" } = links.at(-1) ?? {};
  const index = links.length - 1;
  return { index, server_id: serverId, agent_id: agentId, target_agent_id: target };
}

export type Answered = Extract<PeerAnswer, { readonly kind: "answered" }>;

/** A verified record, or what is wrong with it. */
type PeerRecord =
  | { readonly auditId: string; readonly jws: string; readonly payload: JsonRecord }
  | string;

/**
 * Verifies that a peer's Attribution-Record proves its answer: signed by the peer's key, for this request and this
 * answer.   AGTP-IDENTIFIERS "Attribution-Record", AGTP "DELEGATE"
 */
export function verifyPeerRecord(
  { auditId, record, status, text }: Answered,
  { agentId, body }: Pick<PeerMessage, "agentId" | "body">,
  { serverId, publicKey }: PeerServer,
): PeerRecord {
  if (record === undefined || auditId === undefined) return "the answer has no record";
  if (hash("sha256", record) !== auditId) return "the Audit-ID is not the record's hash";
  const verdict = verifyRecord(record, [publicKey]);
  if (verdict.kind === "unsigned") return "the record is not signed";
  if (verdict.kind !== "verified") return "the record is not signed by the peer's key";
  const { payload } = verdict;
  const { agent_id: subject } = payload;
  // The record of a refusal may name no agent.
  if (subject !== agentId && (isSuccess(status) || subject !== "")) {
    return "the record is about another agent";
  }
  const expected: JsonRecord = {
    server_id: serverId,
    method: "DELEGATE",
    status,
    request_hash: `sha256:${hash("sha256", body)}`,
    result_hash: `sha256:${hash("sha256", text)}`,
  };
  const wrong = Object.entries(expected).find(([name, value]) => payload[name] !== value);
  if (wrong !== undefined) return `the record is about another answer: its ${wrong[0]} differs`;
  return { auditId, jws: record, payload };
}

const MAX_ACTIONS = 32;
const MAX_URI_LENGTH = 512;

/** The actions that a record depends on, each with a URI to query it at. */
export function priorActionsOf(payload: JsonRecord, peer: PeerServer): readonly PriorAction[] {
  const { prior_actions: written } = payload;
  if (!Array.isArray(written)) return [];
  return written.slice(0, MAX_ACTIONS).flatMap((one: unknown) => readAction(one, peer) ?? []);
}

function readAction(written: unknown, { address }: PeerServer): PriorAction | undefined {
  if (!isRecord(written)) return undefined;
  const { agent_id: agentId, audit_id: auditId, agent_uri: uri } = written;
  if (typeof agentId !== "string" || !isAgentId(agentId)) return undefined;
  if (typeof auditId !== "string" || !isSha256(auditId)) return undefined;
  const isUri = typeof uri === "string" && uri.length <= MAX_URI_LENGTH && /^agtp:\/\//.test(uri);
  if (isUri) return { agent_id: agentId, audit_id: auditId, agent_uri: uri };
  const host = address?.host.includes(":") ? `[${address.host}]` : address?.host;
  const own = `agtp://${agentId}@${host}:${address?.port}`;
  return { agent_id: agentId, audit_id: auditId, agent_uri: own };
}
