/**
 * Events of an agent's stream, which are records of its chain, and the state that they lead to.   AGTP "Agent
 * Lifecycle", AGTP-LOG "Local Stream"
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
  /** Undefined for an event that does not change the status, such as one of a contract. */
  readonly status: AgentStatus | undefined;
  /** RFC 3339. */
  readonly at: string;
  readonly migration: AgentMigration | undefined;
}

/** The stored state of an agent. */
export interface AgentState {
  /** Undefined while the status of its document applies. */
  readonly status: AgentStatus | undefined;
  readonly since: string | undefined;
  /** The migration announced with the current status; undefined: none. */
  readonly migration?: AgentMigration;
  /** The number of events, and of the last one. */
  readonly events: number;
  /** The prefixes of the latest events' Audit-IDs. */
  readonly latest?: readonly string[];
}

/** An event stored again after an unknown outcome is at most this many events back. */
const LATEST = 16;
/** A prefix long enough to distinguish that many Audit-IDs. */
const ID_LENGTH = 16;

function shortId({ auditId }: JournalRecord): string {
  return auditId.slice(0, ID_LENGTH);
}

/** True if the event is among the latest that led to the state. */
export function hasTaken(state: AgentState | undefined, event: LifecycleEvent): boolean {
  return state?.latest?.includes(shortId(event)) ?? false;
}

/**
 * Returns the state after an event, independent of the order in which nodes store concurrent events: the later one
 * in the chain wins, and retirement is final. A known event changes nothing.
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

/** Stores an event under its number in the agent's stream. */
export function eventChange({ agentId, auditId, jws }: LifecycleEvent, number: number): Change {
  const value = { audit_id: auditId, jws };
  return { kind: "put", collection: EVENTS, key: eventKey(agentId, number), value };
}

/** Returns the key of an agent's event; keys sort by number. */
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

/** Returns the event in a record; undefined for any other record. */
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

/** Returns the events among records, in order, by agent. */
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

/** Reads the migration of an event or a stored state; undefined if it names none. */
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

/** True if a record is an event; inside a JSON string the quotes would be escaped. */
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
