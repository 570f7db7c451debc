/**
 * Where each hosted agent stands, over what its document says, and the stream of events that brought
 * it there. An event is a record of the agent's chain; the state follows it, also after a crash
 * between the two.   AGTP "Agent Lifecycle", AGTP-LOG "Local Stream"
 */
import type { AgentDocument, AgentStatus } from "../identity/agent-document.ts";
import { decodeJws } from "../identity/jws.ts";
import { isRecord } from "../json-value.ts";
import type { Change, Store } from "../store/store.ts";
import type { JournalRecord } from "./journal.ts";
import { type LifecycleMethod, type Transition, transition } from "./lifecycle.ts";

/** One event of an agent's stream. */
export interface LifecycleEvent extends JournalRecord {
  readonly agentId: string;
  readonly eventType: string;
  /** Undefined for an event that leaves the agent as it is, such as one of a contract's. */
  readonly status: AgentStatus | undefined;
  /** RFC 3339. */
  readonly at: string;
}

/** What a change was decided to be; an event is written by `record`. */
export interface LifecycleChange {
  readonly method: LifecycleMethod;
  readonly agent: AgentDocument;
  /** Makes the event a record of the agent's chain; undefined when it could not be written. */
  record(extension: Readonly<Record<string, unknown>>): Promise<JournalRecord | undefined>;
  /** Members of the event beside its type and states. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** How a change ended. */
export type LifecycleOutcome =
  | {
      readonly kind: "changed";
      readonly status: AgentStatus;
      readonly previousStatus: AgentStatus;
      readonly event: LifecycleEvent;
    }
  | { readonly kind: "noop"; readonly status: AgentStatus }
  /** Nothing has changed. */
  | { readonly kind: "unrecorded" }
  | Extract<Transition, { readonly kind: "invalid" | "conflict" }>;

interface AgentState {
  /** Undefined while its document's holds. */
  readonly status: AgentStatus | undefined;
  readonly since: string | undefined;
  /** Events so far; the number of the last one. */
  readonly events: number;
}

const STATES = "lifecycle";
const EVENTS = "lifecycle-events";
const STATUSES: readonly string[] = ["active", "suspended", "retired", "deprecated"];

export class LifecycleRegister {
  readonly #store: Store;
  readonly #states = new Map<string, AgentState>();
  /** Events that are not in the store yet, in order, and the agents whose state is not. */
  #unsaved: Change[] = [];
  #unsavedAgents = new Set<string>();
  /** The end of each agent's queue of changes. */
  readonly #queues = new Map<string, Promise<unknown>>();

  #revision = 0;

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Opens the register; `journaled` are records that the store may not have seen. */
  static async open(
    store: Store,
    journaled: readonly JournalRecord[] = [],
  ): Promise<LifecycleRegister> {
    const register = new LifecycleRegister(store);
    for (const { key, value } of await store.list(STATES)) {
      const state = readState(value);
      if (state !== undefined) register.#states.set(key, state);
    }
    const events = journaled.flatMap((record) => readEvent(record) ?? []);
    const kept = await register.#keptOf(new Set(events.map(({ agentId }) => agentId)));
    for (const event of events) if (!kept.has(event.auditId)) register.#adopt(event);
    await register.save();
    return register;
  }

  /** The agent's status now: its last event's, else its document's. */
  statusOf({ agentId, status }: AgentDocument): AgentStatus {
    return this.#states.get(agentId)?.status ?? status;
  }

  /** Grows whenever an agent comes to another status. */
  get revision(): number {
    return this.#revision;
  }

  /** When the agent came to its status; undefined without an event. */
  statusSince({ agentId }: AgentDocument): string | undefined {
    return this.#states.get(agentId)?.since;
  }

  /** Decides a change and makes it, after those of this agent that came before. */
  apply(change: LifecycleChange): Promise<LifecycleOutcome> {
    const { agentId } = change.agent;
    const before = this.#queues.get(agentId) ?? Promise.resolve();
    const result = before.then(() => this.#decide(change));
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#queues.set(agentId, settled);
    void settled.then(() => {
      if (this.#queues.get(agentId) === settled) this.#queues.delete(agentId);
    });
    return result;
  }

  /** Puts an event into its agent's stream that does not change where the agent stands. */
  async append(record: JournalRecord): Promise<void> {
    const event = readEvent(record);
    if (event === undefined) throw new Error("an event of the stream cannot be read back");
    this.#adopt(event);
    await this.save();
  }

  /** The newest events of an agent's stream, newest first. */
  async events(agentId: string, limit: number): Promise<readonly JournalRecord[]> {
    const range = { prefix: `${agentId}/`, isReversed: true, limit };
    const entries = await this.#store.list(EVENTS, range);
    return entries.flatMap(({ value }) => readRecord(value) ?? []);
  }

  async #decide({ method, agent, record, details }: LifecycleChange): Promise<LifecycleOutcome> {
    const previousStatus = this.statusOf(agent);
    const hasHistory = this.#states.get(agent.agentId)?.status !== undefined;
    const decided = transition(method, previousStatus, hasHistory);
    if (decided.kind === "noop") return { kind: "noop", status: previousStatus };
    if (decided.kind !== "change") return decided;
    const { status, eventType } = decided;
    const written = await record({
      event_type: eventType,
      previous_status: previousStatus,
      new_status: status,
      ...details,
    });
    if (written === undefined) return { kind: "unrecorded" };
    const event = readEvent(written);
    if (event === undefined) throw new Error("a lifecycle event cannot be read back");
    this.#adopt(event);
    await this.save();
    return { kind: "changed", status, previousStatus, event };
  }

  /** The Audit-IDs of all events of some agents. */
  async #keptOf(agentIds: Iterable<string>): Promise<ReadonlySet<string>> {
    const kept = new Set<string>();
    for (const agentId of agentIds) {
      for (const { value } of await this.#store.list(EVENTS, { prefix: `${agentId}/` })) {
        const record = readRecord(value);
        if (record !== undefined) kept.add(record.auditId);
      }
    }
    return kept;
  }

  /** The event is in the journal already, so it holds whatever becomes of the store. */
  #adopt({ agentId, status, at, auditId, jws }: LifecycleEvent): void {
    const before = this.#states.get(agentId);
    const events = (before?.events ?? 0) + 1;
    const state: AgentState =
      status === undefined
        ? { status: before?.status, since: before?.since, events }
        : { status, since: at, events };
    const key = `${agentId}/${String(events).padStart(12, "0")}`;
    this.#states.set(agentId, state);
    if (status !== undefined) this.#revision += 1;
    this.#unsavedAgents.add(agentId);
    const value = { audit_id: auditId, jws };
    this.#unsaved.push({ kind: "put", collection: EVENTS, key, value });
  }

  /** Stores what is not stored yet; what cannot be now is tried again with the next. */
  async save(): Promise<void> {
    const events = this.#unsaved;
    const agentIds = [...this.#unsavedAgents];
    if (events.length === 0) return;
    this.#unsaved = [];
    this.#unsavedAgents.clear();
    // As they are now: what is tried again must not undo what was stored after it.
    const states = agentIds.map((key): Change => {
      return { kind: "put", collection: STATES, key, value: this.#states.get(key) };
    });
    try {
      await this.#store.commit([...states, ...events]);
    } catch (error) {
      this.#unsaved = [...events, ...this.#unsaved];
      for (const agentId of agentIds) this.#unsavedAgents.add(agentId);
      throw error;
    }
  }
}

function readState(value: unknown): AgentState | undefined {
  if (!isRecord(value)) return undefined;
  const { status, since, events } = value;
  if (typeof events !== "number") return undefined;
  if (!isStatus(status) || typeof since !== "string") {
    return { status: undefined, since: undefined, events };
  }
  return { status, since, events };
}

function readRecord(value: unknown): JournalRecord | undefined {
  if (!isRecord(value)) return undefined;
  const { audit_id: auditId, jws } = value;
  return typeof auditId === "string" && typeof jws === "string" ? { auditId, jws } : undefined;
}

/** The event in a record; undefined for a record of anything else. */
function readEvent({ auditId, jws }: JournalRecord): LifecycleEvent | undefined {
  const payload = decodeJws(jws)?.payload;
  if (payload === undefined) return undefined;
  const { agent_id: agentId, event_type: eventType, new_status: status, issued_at: at } = payload;
  if (typeof agentId !== "string" || typeof eventType !== "string") return undefined;
  if (typeof at !== "string") return undefined;
  return { auditId, jws, agentId, eventType, status: isStatus(status) ? status : undefined, at };
}

function isStatus(value: unknown): value is AgentStatus {
  return typeof value === "string" && STATUSES.includes(value);
}
