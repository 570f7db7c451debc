/**
 * An Attribution-Record before it is sealed. Its payload is who asked, for what, and what the answer was,
 * as one JSON text; the draft has everything but the record it follows, its signature and its Audit-ID.
 * Every record names the one before it in its agent's chain. Fields stand at top level.
 * AGTP-IDENTIFIERS "Attribution-Record", AGTP-API §10.1.6
 */
import { hash } from "node:crypto";
import { jsonMembers, jsonText } from "../../base/json-value.ts";
import { bodySha256, flatText, RepeatedTexts } from "../../base/kept-text.ts";
import type { LateFields } from "../../wire/message.ts";
import type { JournalRecord } from "../journal/journal.ts";

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

/** The facts of what no request asked for, such as bytes that were none. */
export const NO_REQUEST: Omit<RecordFacts, "status"> = {
  ...{ agentId: "", ownerId: "", requestId: "", responseId: "", actionId: undefined },
  ...{ method: "", requestedMethod: undefined, path: "", sessionId: undefined, taskId: undefined },
  ...{ principalId: undefined, assurance: "unverified", requestBody: "", responseBody: "" },
};

/** How the server knows that the agent is who it says. */
type Assurance = "certificate-bound" | "unverified";

/** The JSON text of a record, without the Audit-ID of the one before, which stands between. */
interface RecordPayload {
  readonly before: string;
  readonly after: string;
}

/**
 * The payload of a record. It is put together by hand, as every response has one; and of few pieces, as it is
 * written piece by piece: with half of the pieces, that takes half of the time. Each text of a member is closed
 * by what follows it.
 */
export function recordPayload(facts: RecordFacts, serverId: string, now: number): RecordPayload {
  const { actionId, traceId, extension } = facts;
  const before = `${openingOf(facts, serverId)}${facts.responseId}","previous_audit_id":"`;
  let after = issuedAt(now) + requests.get(facts.path, facts.method);
  after += `${outcomeOf(facts)}${bodyHash(facts.requestBody)}","result_hash":"sha256:`;
  after += bodyHash(facts.responseBody);
  after += member("requested_method", facts.requestedMethod);
  if (actionId !== undefined) after += `","action_id":"${actionId}`;
  after += member("session_id", facts.sessionId);
  after += member("task_id", facts.taskId);
  after += member("principal_id", facts.principalId);
  if (traceId !== undefined) after += `","trace_id":"${traceId}`;
  if (extension !== undefined && Object.keys(extension).length > 0) {
    return { before, after: `${after}",${jsonMembers(extension)}}` };
  }
  return { before, after: `${after}"}` };
}

/** A member of a text, open at its end. */
function member(name: string, text: string | undefined): string {
  return text === undefined ? "" : `","${name}":${jsonText(text).slice(0, -1)}`;
}

const REPLY = '"response_id":"';
const NO_REQUEST_ID = `"",${REPLY}`;

let ownServerId: string | undefined;
/** One a busy agent; with the Request-ID that is none, or up to it. */
let openings = openingsOf("", "");
let namedOpenings = openings;

/** The members up to the Response-ID; mostly those of one server. */
function openingOf({ agentId, ownerId, requestId }: RecordFacts, serverId: string): string {
  if (serverId !== ownServerId) {
    ownServerId = serverId;
    openings = openingsOf(serverId, NO_REQUEST_ID);
    namedOpenings = openingsOf(serverId, "");
  }
  if (requestId === "") return openings.get(agentId, ownerId);
  return `${namedOpenings.get(agentId, ownerId)}${jsonText(requestId)},${REPLY}`;
}

function openingsOf(serverId: string, end: string): RepeatedTexts {
  const rest = `","server_id":${jsonText(serverId)},"request_id":${end}`;
  return new RepeatedTexts(
    16_384,
    (agentId, ownerId) =>
      `{"audit_record_version":"1","agent_id":"${agentId}","owner_id":"${ownerId}${rest}`,
  );
}

/** One a busy path. */
const requests = new RepeatedTexts(
  1024,
  (path, method) => `","method":${jsonText(method)},"path":${jsonText(path)},"status":`,
);

const outcomes: Readonly<Record<Assurance, Map<number, string>>> = {
  "certificate-bound": new Map(),
  unverified: new Map(),
};

/** The status, and the members behind it up to the first hash. */
function outcomeOf({ status, assurance }: RecordFacts): string {
  const known = outcomes[assurance].get(status);
  if (known !== undefined) return known;
  const made = flatText(`${status},"identity_assurance":"${assurance}","request_hash":"sha256:`);
  outcomes[assurance].set(status, made);
  return made;
}

const ISSUED_AT = '","issued_at":"';

const EMPTY_HASH = bodySha256("");

/** The hash of a body's octets, in hex. */
function bodyHash(body: Uint8Array | string): string {
  return body.length === 0 ? EMPTY_HASH : bodySha256(body);
}

let issuedAtMs = -1;
let issuedAtText = "";

/** RFC 3339 with milliseconds, made anew at most once a millisecond; always of one length. */
function issuedAt(now: number): string {
  if (now !== issuedAtMs) {
    issuedAtMs = now;
    issuedAtText = flatText(ISSUED_AT + new Date(now).toISOString());
  }
  return issuedAtText;
}

/**
 * The name of the server's own chain, where records of others have an Agent-ID: what operators change
 * that is about no agent.   docs/attribution.md
 */
export function serverChainId(serverId: string): string {
  return hash("sha256", `agtp://${serverId}`);
}

export interface Chain {
  readonly agentId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The method of the recorded request. */
  readonly method: string;
  /** Set where the record says what has happened to its agent. */
  readonly isEvent?: true;
}

/** A record that is not sealed yet. Drafts are sealed together, when the replies that carry them are about to leave. */
export class RecordDraft implements LateFields {
  payload: RecordPayload;
  readonly sealer: Sealer;
  /** Undefined: the record is in no chain, and kept nowhere. */
  chain: Chain | undefined;
  /** Compact serialization; empty before it is sealed. */
  jws = "";
  /** SHA-256 of the JWS, 64 lower-case hex digits; empty before it is sealed. */
  auditId = "";
  /** Its place among the drafts that wait for their store, from 1 on; 0: it does not. */
  number = 0;

  constructor(payload: RecordPayload, sealer: Sealer, chain: Chain | undefined) {
    this.payload = payload;
    this.sealer = sealer;
    this.chain = chain;
  }

  /** Moves the record to a later time, in milliseconds since the epoch: its chain has gone on. */
  reissue(at: number): void {
    if (this.chain === undefined || this.chain.at === at) return;
    const { before, after } = this.payload;
    const text = issuedAt(at);
    this.chain = { ...this.chain, at };
    this.payload = { before, after: text + after.slice(text.length) };
  }

  seal(jws: string, auditId: string): void {
    this.jws = jws;
    this.auditId = auditId;
  }

  get isKnown(): boolean {
    return this.auditId !== "";
  }

  /** As they stand in a response. */
  get lines(): string {
    return `Attribution-Record: ${this.jws}\r\nAudit-ID: ${this.auditId}\r\n`;
  }
}

/** Drafts as they are sealed, apart from what else is known of them. */
export interface SealingJob {
  readonly payloads: readonly RecordPayload[];
  /** For each payload the number of its chain in this job; -1: none. */
  readonly chains: readonly number[];
  /** For each chain the Audit-ID that its first payload follows. */
  readonly previous: readonly string[];
}

/** Takes records of a job, in order, while the others are still being sealed. */
export type Deliver = (records: readonly JournalRecord[]) => void;

export interface Sealer {
  /**
   * One record a payload; at once where nothing has to be waited for. What was delivered before is
   * not in the result again.
   */
  seal(
    job: SealingJob,
    deliver: Deliver,
  ): readonly JournalRecord[] | Promise<readonly JournalRecord[]>;
  /** Finishes the records that are being sealed, then closes. */
  close(): Promise<void>;
}
