/**
 * The payload of an Attribution-Record: who asked, for what, and what the answer was, as one JSON
 * text. Every record names the one before it in its agent's chain. Fields stand at top level.
 * AGTP-IDENTIFIERS "Attribution-Record", AGTP-API §10.1.6
 */
import { jsonMembers, jsonText } from "../../base/json-value.ts";
import { bodySha256 } from "../../base/kept-text.ts";
import { sha256Hex } from "../../identity/canonical-form.ts";

/** `previous_audit_id` of the first record of a chain, and of a record that is in none. */
export const NO_AUDIT_ID: string = "0".repeat(64);

/** The facts of one response. Texts that are not marked optional may be empty. */
export interface RecordFacts {
  /** The acting agent; empty for a caller that is nobody. */
  readonly agentId: string;
  readonly ownerId: string;
  /** As it was sent, malformed or not. */
  readonly requestId: string;
  readonly responseId: string;
  /** Set for what changes something. */
  readonly actionId: string | undefined;
  readonly method: string;
  /** The wire's method, when another one was answered. */
  readonly requestedMethod: string | undefined;
  readonly path: string;
  readonly status: number;
  readonly sessionId: string | undefined;
  readonly taskId: string | undefined;
  /** From a validated credential; the credential itself never gets here. */
  readonly principalId: string | undefined;
  /** The trace that the request is a part of, 32 hex digits. */
  readonly traceId?: string | undefined;
  readonly assurance: Assurance;
  readonly requestBody: Uint8Array | string;
  readonly responseBody: Uint8Array | string;
  /** Further members, such as those of a lifecycle event. */
  readonly extension?: Readonly<Record<string, unknown>> | undefined;
}

/** How the server knows that the agent is who it says. */
type Assurance = "certificate-bound" | "unverified";

/** The JSON text of a record, without the Audit-ID of the one before, which stands between. */
export interface RecordPayload {
  readonly before: string;
  readonly after: string;
}

/** The payload of a record. It is put together by hand: every response has one. */
export function recordPayload(facts: RecordFacts, serverId: string, now: number): RecordPayload {
  const { actionId, requestedMethod, sessionId, taskId, principalId, extension } = facts;
  const before = `{"audit_record_version":"1","agent_id":"${facts.agentId}","owner_id":"${
    facts.ownerId
  }","server_id":${jsonText(serverId)},"request_id":${jsonText(facts.requestId)},"response_id":"${
    facts.responseId
  }","previous_audit_id":"`;
  let after = `${ISSUED_AT}${timestamp(now)}","method":${jsonText(facts.method)},"path":${jsonText(facts.path)},"status":${facts.status},"identity_assurance":"${
    facts.assurance
  }","request_hash":"${bodyHash(facts.requestBody)}","result_hash":"${bodyHash(facts.responseBody)}"`;
  if (requestedMethod !== undefined) after += `,"requested_method":${jsonText(requestedMethod)}`;
  if (actionId !== undefined) after += `,"action_id":"${actionId}"`;
  if (sessionId !== undefined) after += `,"session_id":${jsonText(sessionId)}`;
  if (taskId !== undefined) after += `,"task_id":${jsonText(taskId)}`;
  if (principalId !== undefined) after += `,"principal_id":${jsonText(principalId)}`;
  if (facts.traceId !== undefined) after += `,"trace_id":"${facts.traceId}"`;
  if (extension !== undefined && Object.keys(extension).length > 0) {
    after += `,${jsonMembers(extension)}`;
  }
  return { before, after: `${after}}` };
}

const ISSUED_AT = '","issued_at":"';
const TIMESTAMP_LENGTH = "1970-01-01T00:00:00.000Z".length;

/** Issues a record at another time; only for payloads that `recordPayload` made. */
export function reissued({ before, after }: RecordPayload, at: number): RecordPayload {
  const rest = after.slice(ISSUED_AT.length + TIMESTAMP_LENGTH);
  return { before, after: ISSUED_AT + timestamp(at) + rest };
}

const EMPTY_HASH = `sha256:${bodySha256("")}`;

/** `sha256:` and the hash of a body's octets, in hex. */
function bodyHash(body: Uint8Array | string): string {
  if (body.length === 0) return EMPTY_HASH;
  return `sha256:${bodySha256(body)}`;
}

let timestampAt = -1;
let timestampText = "";

/** RFC 3339 with milliseconds, made anew at most once a millisecond. */
function timestamp(now: number): string {
  if (now !== timestampAt) {
    timestampAt = now;
    timestampText = new Date(now).toISOString();
  }
  return timestampText;
}

/**
 * The name of the server's own chain, where records of others have an Agent-ID: what operators change
 * that is about no agent.   docs/attribution.md
 */
export function serverChainId(serverId: string): string {
  return sha256Hex(`agtp://${serverId}`);
}
