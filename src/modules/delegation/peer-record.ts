/**
 * Judges if a peer's Attribution-Record proves its answer: signed by the peer's key, about this
 * request and this answer. What it depends on is what the agents there did.
 * AGTP-IDENTIFIERS "Attribution-Record", AGTP "DELEGATE"
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import { sha256Hex } from "../../identity/canonical-form.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import { verifyRecord } from "../../state/records/verify-record.ts";
import { isSuccess } from "../../wire/message.ts";
import type { PeerAnswer, PeerMessage } from "./peer-clients.ts";
import type { PeerServer } from "./peers.ts";

/** An answer. */
export type Answered = Extract<PeerAnswer, { readonly kind: "answered" }>;

/** The action that a record proves, or what is wrong with it, in words. */
type PeerRecord =
  | { readonly auditId: string; readonly jws: string; readonly payload: JsonRecord }
  | string;

/** Verifies the record of an answer. */
export function verifyPeerRecord(
  { auditId, record, status, text }: Answered,
  { agentId, body }: Pick<PeerMessage, "agentId" | "body">,
  { serverId, publicKey }: PeerServer,
): PeerRecord {
  if (record === undefined || auditId === undefined) return "the answer has no record";
  if (sha256Hex(record) !== auditId) return "the Audit-ID is not the record's hash";
  const verdict = verifyRecord(record, [publicKey]);
  if (verdict.kind === "unsigned") return "the record is not signed";
  if (verdict.kind !== "verified") return "the record is not signed by the peer's key";
  const { payload } = verdict;
  const { agent_id: subject } = payload;
  // An agent that a server turns away at its gate is nobody there.
  if (subject !== agentId && (isSuccess(status) || subject !== "")) {
    return "the record is about another agent";
  }
  const expected: JsonRecord = {
    server_id: serverId,
    method: "DELEGATE",
    status,
    request_hash: `sha256:${sha256Hex(body)}`,
    result_hash: `sha256:${sha256Hex(text)}`,
  };
  const wrong = Object.entries(expected).find(([name, value]) => payload[name] !== value);
  if (wrong !== undefined) return `the record is about another answer: its ${wrong[0]} differs`;
  return { auditId, jws: record, payload };
}

const AUDIT_ID = /^[0-9a-f]{64}$/;
const MAX_ACTIONS = 32;
const MAX_URI_LENGTH = 512;

/** The actions that a record depends on, each with where it can be asked for. */
export function priorActionsOf(payload: JsonRecord, peer: PeerServer): readonly PriorAction[] {
  const { prior_actions: written } = payload;
  if (!Array.isArray(written)) return [];
  return written.slice(0, MAX_ACTIONS).flatMap((one: unknown) => readAction(one, peer) ?? []);
}

function readAction(written: unknown, { address }: PeerServer): PriorAction | undefined {
  if (!isRecord(written)) return undefined;
  const { agent_id: agentId, audit_id: auditId, agent_uri: uri } = written;
  if (typeof agentId !== "string" || !isAgentId(agentId)) return undefined;
  if (typeof auditId !== "string" || !AUDIT_ID.test(auditId)) return undefined;
  const isUri = typeof uri === "string" && uri.length <= MAX_URI_LENGTH && /^agtp:\/\//.test(uri);
  if (isUri) return { agent_id: agentId, audit_id: auditId, agent_uri: uri };
  const host = address?.host.includes(":") ? `[${address.host}]` : address?.host;
  const own = `agtp://${agentId}@${host}:${address?.port}`;
  return { agent_id: agentId, audit_id: auditId, agent_uri: own };
}
