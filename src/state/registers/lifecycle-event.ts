/**
 * Events of an agent's stream, records of its chain that say what has happened to it, and where they
 * have brought it.
 * AGTP "Agent Lifecycle", AGTP-LOG "Local Stream"
 */

import { given, isRecord, type JsonRecord, textsIn } from "../../base/json-value.ts";
import { addUnder } from "../../base/listed.ts";
import type { AgentMigration, AgentStatus } from "../../identity/agent-document.ts";
import { decodeJws } from "../../identity/jws.ts";
import type { JournalRecord } from "../journal/journal.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Change } from "../store.ts";

/** One event of an agent's stream. */
export interface LifecycleEvent extends JournalRecord {
  readonly agentId: string;
  readonly eventType: string;
  /** Undefined for an event that leaves the agent as it is, such as one of a contract's. */
  readonly status: AgentStatus | undefined;
  /** RFC 3339. */
  readonly at: string;
  readonly migration: AgentMigration | undefined;
}

/** Where an agent stands, as it is stored. */
export interface AgentState {
  /** Undefined while its document's holds. */
  readonly status: AgentStatus | undefined;
  readonly since: string | undefined;
  /** The way on that was told when the agent came to its status; undefined: none. */
  readonly migration?: AgentMigration;
  /** Events so far; the number of the last one. */
  readonly events: number;
  /** The latest of them, by what their Audit-IDs begin with. */
  readonly latest?: readonly string[];
}

/** An event that is stored again, since nobody saw that it was, is not behind more than these. */
const LATEST = 16;
/** Enough of an Audit-ID to tell it from so many others. */
const ID_LENGTH = 16;

function shortId({ auditId }: JournalRecord): string {
  return auditId.slice(0, ID_LENGTH);
}

/** Tells whether an event is one of the latest that have brought an agent where it stands. */
export function hasTaken(state: AgentState | undefined, event: LifecycleEvent): boolean {
  return state?.latest?.includes(shortId(event)) ?? false;
}

/**
 * The state that an event leads to, in whichever order two nodes store what they have decided at the same
 * moment: the later one in the chain holds, and a retired agent stays so. One that was taken changes nothing.
 */
export function stateAfter(before: AgentState | undefined, event: LifecycleEvent): AgentState {
  if (before !== undefined && hasTaken(before, event)) return before;
  const { status, at, migration } = event;
  const events = (before?.events ?? 0) + 1;
  const latest = [...(before?.latest ?? []), shortId(event)].slice(-LATEST);
  const isLater = status === "retired" || (before?.since ?? "") <= at;
  const isMoved = status !== undefined && before?.status !== "retired" && isLater;
  return isMoved
    ? { status, since: at, events, latest, ...given({ migration }) }
    : {
        ...{ status: before?.status, since: before?.since, events, latest },
        ...given({ migration: before?.migration }),
      };
}

export const EVENTS = "lifecycle-events";

/** Stores an event as the one of this number of its agent. */
export function eventChange({ agentId, auditId, jws }: LifecycleEvent, number: number): Change {
  const value = { audit_id: auditId, jws };
  return { kind: "put", collection: EVENTS, key: eventKey(agentId, number), value };
}

/** The key of an agent's event; the later one comes behind. */
export function eventKey(agentId: string, number: number): string {
  return `${agentId}/${String(number).padStart(12, "0")}`;
}

const STATUSES: readonly string[] = ["active", "suspended", "retired", "deprecated"];

const readStored = recordReader<{ readonly audit_id: string; readonly jws: string }>({
  ...{ audit_id: "string", jws: "string" },
});

/** Reads a stored record; undefined for anything else. */
export function readRecord(value: unknown): JournalRecord | undefined {
  const stored = readStored(value);
  return stored && { auditId: stored.audit_id, jws: stored.jws };
}

/** The event in a record; undefined for a record of anything else. */
export function readEvent({ auditId, jws }: JournalRecord): LifecycleEvent | undefined {
  const payload = decodeJws(jws)?.payload;
  if (payload === undefined) return undefined;
  const { agent_id: agentId, event_type: eventType, new_status: status, issued_at: at } = payload;
  if (typeof agentId !== "string" || typeof eventType !== "string") return undefined;
  if (typeof at !== "string") return undefined;
  const stands = { status: isStatus(status) ? status : undefined, at };
  const migration = status === "deprecated" ? readMigration(payload) : undefined;
  return { auditId, jws, agentId, eventType, ...stands, migration };
}

/** The events that records are, in order, under their agents. */
export function eventsByAgent(
  records: readonly JournalRecord[],
): ReadonlyMap<string, readonly LifecycleEvent[]> {
  const events = new Map<string, LifecycleEvent[]>();
  for (const record of records) {
    const event = readEvent(record);
    if (event !== undefined) addUnder(events, event.agentId, event);
  }
  return events;
}

/** The way on in an event or a stored state; undefined where it names none. */
function readMigration({
  successor_agent_id: successor,
  migration_deadline: deadline,
}: JsonRecord): AgentMigration | undefined {
  const migration = {
    ...(typeof successor === "string" ? { successor_agent_id: successor } : {}),
    ...(typeof deadline === "string" ? { migration_deadline: deadline } : {}),
  };
  return Object.keys(migration).length === 0 ? undefined : migration;
}

/** Tells events from other records; within a text of JSON the quotes would be escaped. */
export function isLifecycleRecord(jws: string): boolean {
  const payload = jws.slice(jws.indexOf(".") + 1, jws.lastIndexOf("."));
  return Buffer.from(payload, "base64url").includes('"event_type":"');
}

function isStatus(value: unknown): value is AgentStatus {
  return typeof value === "string" && STATUSES.includes(value);
}

/** Reads a stored state; undefined for anything else. */
export function readState(value: unknown): AgentState | undefined {
  if (!isRecord(value)) return undefined;
  const { status, since, events, latest: written, migration: told } = value;
  if (typeof events !== "number") return undefined;
  const latest = textsIn(written);
  if (!isStatus(status) || typeof since !== "string") {
    return { status: undefined, since: undefined, events, latest };
  }
  const migration = isRecord(told) ? readMigration(told) : undefined;
  return { status, since, events, latest, ...given({ migration }) };
}
