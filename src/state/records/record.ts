/**
 * An unsealed Attribution-Record. Its payload is one JSON text with the caller, the request and the outcome; a draft
 * lacks only the Audit-ID of its predecessor, its signature and its own Audit-ID. Every record names its predecessor
 * in its agent's chain. Fields stand at top level. AGTP-IDENTIFIERS "Attribution-Record", AGTP-API §10.1.6
 */
import { hash } from "node:crypto";
import { jsonMembers, jsonText } from "../../base/json-value.ts";
import { bodySha256, flatText, RepeatedTexts } from "../../base/kept-text.ts";
import type { LateFields } from "../../wire/message.ts";
import type { JournalRecord } from "../journal/journal.ts";

/** `previous_audit_id` of a chain's first record, and of a record outside chains. */
export const NO_AUDIT_ID: string = "0".repeat(64);

/** The facts of one response. Strings not marked optional may be empty. */
export interface RecordFacts {
  /** The acting agent; empty for an unidentified caller. */
  readonly agentId: string;
  readonly ownerId: string;
  /** As received, possibly malformed. */
  readonly requestId: string;
  readonly responseId: string;
  /** Set if the request changes something. */
  readonly actionId: string | undefined;
  readonly method: string;
  /** The method on the wire, if another one was answered. */
  readonly requestedMethod: string | undefined;
  readonly path: string;
  readonly status: number;
  readonly sessionId: string | undefined;
  readonly taskId: string | undefined;
  /** From a validated credential, which itself never gets here. */
  readonly principalId: string | undefined;
  /** The trace of the request, 32 hex digits. */
  readonly traceId?: string | undefined;
  readonly assurance: Assurance;
  readonly requestBody: Uint8Array | string;
  readonly responseBody: Uint8Array | string;
  /** Further members, such as those of a lifecycle event. */
  readonly extension?: Readonly<Record<string, unknown>> | undefined;
}

/** The facts for input that is not a request, such as malformed octets. */
export const NO_REQUEST: Omit<RecordFacts, "status"> = {
  ...{ agentId: "", ownerId: "", requestId: "", responseId: "", actionId: undefined },
  ...{ method: "", requestedMethod: undefined, path: "", sessionId: undefined, taskId: undefined },
  ...{ principalId: undefined, assurance: "unverified", requestBody: "", responseBody: "" },
};

/** How the agent's identity was established. */
type Assurance = "certificate-bound" | "unverified";

/** The JSON text of a record in two parts, around the Audit-ID of its predecessor. */
interface RecordPayload {
  readonly before: string;
  readonly after: string;
}

/**
 * Builds a record's payload. It concatenates by hand, since every response has one, and few pieces, since the text
 * is written piece by piece: half as many take half the time. Each string member is closed by what follows it.
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

/** Returns a string member without its closing quote. */
function member(name: string, text: string | undefined): string {
  return text === undefined ? "" : `","${name}":${jsonText(text).slice(0, -1)}`;
}

const REPLY = '"response_id":"';
const NO_REQUEST_ID = `"",${REPLY}`;

let ownServerId: string | undefined;
/** One entry per busy agent: without a Request-ID, and up to it. */
let openings = openingsOf("", "");
let namedOpenings = openings;

/** Returns the members up to the Response-ID; cached for one server. */
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

/** One entry per busy path. */
const requests = new RepeatedTexts(
  1024,
  (path, method) => `","method":${jsonText(method)},"path":${jsonText(path)},"status":`,
);

const outcomes: Readonly<Record<Assurance, Map<number, string>>> = {
  "certificate-bound": new Map(),
  unverified: new Map(),
};

/** Returns the status, and the members after it up to the first hash. */
function outcomeOf({ status, assurance }: RecordFacts): string {
  const known = outcomes[assurance].get(status);
  if (known !== undefined) return known;
  const made = flatText(`${status},"identity_assurance":"${assurance}","request_hash":"sha256:`);
  outcomes[assurance].set(status, made);
  return made;
}

const ISSUED_AT = '","issued_at":"';

const EMPTY_HASH = bodySha256("");

/** Returns the SHA-256 of a body in hex. */
function bodyHash(body: Uint8Array | string): string {
  return body.length === 0 ? EMPTY_HASH : bodySha256(body);
}

let issuedAtMs = -1;
let issuedAtText = "";

/** Returns RFC 3339 with milliseconds, of constant length; built at most once a millisecond. */
function issuedAt(now: number): string {
  if (now !== issuedAtMs) {
    issuedAtMs = now;
    issuedAtText = flatText(ISSUED_AT + new Date(now).toISOString());
  }
  return issuedAtText;
}

/**
 * Returns the id of the server's own chain, used in place of an Agent-ID for operators' changes that concern no
 * agent.   docs/attribution.md
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
  /** Set if the record is an event of its agent. */
  readonly isEvent?: true;
}

/** An unsealed record. Drafts are sealed together, when the replies that carry them are about to leave. */
export class RecordDraft implements LateFields {
  payload: RecordPayload;
  readonly sealer: Sealer;
  /** Undefined: the record is outside chains, and not stored. */
  chain: Chain | undefined;
  /** Compact serialization; empty before it is sealed. */
  jws = "";
  /** SHA-256 of the JWS, 64 lower-case hex digits; empty before it is sealed. */
  auditId = "";
  /** The position among drafts waiting for their store, counted from 1; 0: none. */
  number = 0;

  constructor(payload: RecordPayload, sealer: Sealer, chain: Chain | undefined) {
    this.payload = payload;
    this.sealer = sealer;
    this.chain = chain;
  }

  /** Moves the record to a later time, in milliseconds since the epoch, after its chain has grown. */
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

  /** The header fields of a response. */
  get lines(): string {
    return `Attribution-Record: ${this.jws}\r\nAudit-ID: ${this.auditId}\r\n`;
  }
}

/** The parts of drafts that sealing needs. */
export interface SealingJob {
  readonly payloads: readonly RecordPayload[];
  /** For each payload the index of its chain in `previous`; -1: none. */
  readonly chains: readonly number[];
  /** For each chain the Audit-ID that its first payload follows. */
  readonly previous: readonly string[];
}

/** Receives sealed records of a job, in order, while others are being sealed. */
export type Deliver = (records: readonly JournalRecord[]) => void;

export interface Sealer {
  /** Seals one record per payload, synchronously if possible. The result omits records already delivered. */
  seal(
    job: SealingJob,
    deliver: Deliver,
  ): readonly JournalRecord[] | Promise<readonly JournalRecord[]>;
  /** Finishes running jobs, then closes. */
  close(): Promise<void>;
}
