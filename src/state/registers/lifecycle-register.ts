/**
 * The status of each hosted agent, which overrides its document's, and the stream of events that led to it. An event
 * is a record of the agent's chain; the state follows it, also after a crash between the two. Of events without a
 * status only the latest are kept here; the journal has them all.   AGTP "Agent Lifecycle", AGTP-LOG "Local Stream"
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { KeyedTurns, Turns } from "../../base/turns.ts";
import type { AgentDocument, AgentMigration, AgentStatus } from "../../identity/agent-document.ts";
import { Collection } from "../collection.ts";
import type { JournalRecord } from "../journal/journal.ts";
import type { Change, Store } from "../store.ts";
import { isStoreUnavailable } from "../store-fault.ts";
import { type LifecycleMethod, type Transition, transition } from "./lifecycle.ts";
import {
  type AgentState,
  EVENTS,
  eventChange,
  eventKey,
  eventsByAgent,
  hasTaken,
  type LifecycleEvent,
  readEvent,
  readRecord,
  readState,
  stateAfter,
} from "./lifecycle-event.ts";

/** A requested change. */
interface LifecycleChange {
  readonly method: LifecycleMethod;
  readonly agent: AgentDocument;
  /** Writes the event as a record of the agent's chain; undefined if that failed. */
  record(extension: Readonly<Record<string, unknown>>): Promise<JournalRecord | undefined>;
  /** Further members of the event, besides its type and statuses. */
  readonly details: Readonly<Record<string, unknown>>;
}

export type LifecycleOutcome =
  | {
      readonly kind: "changed";
      readonly status: AgentStatus;
      readonly previousStatus: AgentStatus;
      readonly event: LifecycleEvent;
    }
  | { readonly kind: "noop"; readonly status: AgentStatus }
  /** The event could not be recorded, and nothing changed. */
  | { readonly kind: "unrecorded" }
  | Extract<Transition, { readonly kind: "invalid" | "conflict" }>;

/** Events without a status kept per agent; those with one are kept for good. */
const EVENTS_KEPT = 10_000;
/** If another node stores events concurrently, up to this many surplus ones are left for the next save. */
const EVENTS_LEFT = 8;
const SAVE_AGAIN_MS = 500;

export class LifecycleRegister {
  readonly #store: Store;
  readonly #eventsKept: number;
  readonly #stored: Collection<AgentState>;
  /** Events not stored yet, by agent; they are in the journal, and so are in force. */
  readonly #unstored = new Map<string, readonly LifecycleEvent[]>();
  /** Serializes saves. */
  readonly #saves = new Turns();
  #retry: NodeJS.Timeout | undefined;
  /** Serializes the changes of each agent. */
  readonly #turns = new KeyedTurns();
  #revision = 0;
  readonly #watchers = new Set<(agentId: string) => void>();

  private constructor(store: Store, stored: Collection<AgentState>, eventsKept: number) {
    this.#store = store;
    this.#stored = stored;
    this.#eventsKept = eventsKept;
  }

  /** Opens the register; `journaled` are records that the store may lack. */
  static async open(
    store: Store,
    journaled: readonly JournalRecord[] = [],
    { eventsKept = EVENTS_KEPT }: { readonly eventsKept?: number } = {},
  ): Promise<LifecycleRegister> {
    let register: LifecycleRegister | undefined;
    const stored = await Collection.open<AgentState>(store, {
      name: "lifecycle",
      read: readState,
      onChange: (before, after, agentId) => {
        if (register !== undefined) register.#follow(agentId, before, after);
      },
    });
    register = new LifecycleRegister(store, stored, eventsKept);
    for (const [agentId, own] of eventsByAgent(journaled)) {
      for (const event of await register.#missing(agentId, own)) register.#adopt(event);
    }
    await register.save();
    return register;
  }

  /** Returns the agent's current status: its last event's, otherwise its document's. */
  statusOf({ agentId, status }: AgentDocument): AgentStatus {
    return this.#stateOf(agentId)?.status ?? status;
  }

  /** Grows whenever an agent's status changes. */
  get revision(): number {
    return this.#revision;
  }

  /** Calls the watcher with each agent whose status changes. Returns a function that ends this. */
  watch(watcher: (agentId: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Returns when the agent reached its status; undefined without an event. */
  statusSince({ agentId }: AgentDocument): string | undefined {
    return this.#stateOf(agentId)?.since;
  }

  /** Returns the migration announced with a deprecation; undefined if there is none. */
  migrationOf({ agentId }: AgentDocument): AgentMigration | undefined {
    return this.#stateOf(agentId)?.migration;
  }

  /** Decides and makes a change, after earlier changes of this agent. */
  apply(change: LifecycleChange): Promise<LifecycleOutcome> {
    const { agentId } = change.agent;
    return this.#turns.run(agentId, () => this.#decide(change));
  }

  /** Appends an event that does not change its agent's status. */
  async append(record: JournalRecord): Promise<void> {
    const event = readEvent(record);
    if (event === undefined) throw new Error("an event of the stream cannot be read back");
    this.#adopt(event);
    await this.#whereverItIsKept(() => this.save());
  }

  /**
   * Restores recorded events that the store lost or never had, after a failover to a replica or the death of a node.
   * Only events with a status are restored.
   */
  async replay(journaled: readonly JournalRecord[]): Promise<void> {
    for (const event of journaled.flatMap((record) => readEvent(record) ?? [])) {
      if (!this.#isLost(event)) continue;
      await this.#turns.run(event.agentId, () => this.#restore(event));
    }
  }

  /** Restores an event; of several nodes that try, one succeeds. */
  async #restore(event: LifecycleEvent): Promise<void> {
    let also: readonly Change[] = [];
    const decide = (): ReadonlyMap<string, AgentState> => {
      also = [];
      const before = this.#stored.get(event.agentId);
      if (!this.#isLost(event) || hasTaken(before, event)) return new Map();
      const state = stateAfter(before, event);
      also = [eventChange(event, state.events)];
      return new Map([[event.agentId, state]]);
    };
    await this.#stored.putAll(decide, { also: () => also });
  }

  /** Times in a chain never decrease, and nothing follows a retirement. */
  #isLost({ agentId, status, at }: LifecycleEvent): boolean {
    const known = this.#stateOf(agentId);
    if (status === undefined || known?.status === "retired") return false;
    const { since = "" } = known ?? {};
    return since < at || (since === at && known?.status !== status);
  }

  /** Ignores a store failure: an event in the journal is in force, and is stored with the next change. */
  async #whereverItIsKept(save: () => Promise<void>): Promise<void> {
    try {
      await save();
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
    }
  }

  /** Returns the newest events of an agent's stream, newest first. */
  async events(agentId: string, limit: number): Promise<readonly JournalRecord[]> {
    const range = { prefix: `${agentId}/`, isReversed: true, limit };
    const entries = await this.#store.list(EVENTS, range);
    return entries.flatMap(({ value }) => readRecord(value) ?? []);
  }

  async #decide({ method, agent, record, details }: LifecycleChange): Promise<LifecycleOutcome> {
    const previousStatus = this.statusOf(agent);
    const hasHistory = this.#stateOf(agent.agentId)?.status !== undefined;
    const decided = transition(method, previousStatus, hasHistory);
    if (decided.kind === "noop") {
      await this.#spread(agent.agentId);
      return { kind: "noop", status: previousStatus };
    }
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
    await this.#spread(agent.agentId);
    return { kind: "changed", status, previousStatus, event };
  }

  /** Resolves once the state is stored and known to every node, so that no one is answered before. */
  async #spread(agentId: string): Promise<void> {
    if (this.#store.everywhere === undefined) {
      await this.#whereverItIsKept(() => this.save());
      return;
    }
    try {
      await this.save();
    } catch (error) {
      this.#saveLater();
      throw error;
    }
    await this.#stored.everywhere(agentId);
  }

  /** Retries saving a change that is in force here, until it is stored. */
  #saveLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.save().catch((error: unknown) => {
        if (isStoreUnavailable(error)) this.#saveLater();
      });
    }, SAVE_AGAIN_MS).unref();
  }

  /** Returns events missing from the store and not deleted on purpose; in a turn of its own, since streams are long. */
  async #missing(agentId: string, events: readonly LifecycleEvent[]) {
    await nextTurn();
    const entries = await this.#store.list(EVENTS, { prefix: `${agentId}/` });
    const kept = new Set(entries.map(({ value }) => readRecord(value)?.auditId));
    const isPassing = ({ status }: LifecycleEvent): boolean => status === undefined;
    const hasForgotten = (this.#stateOf(agentId)?.events ?? 0) > this.#eventsKept;
    // An event older than a kept one was deleted on purpose.
    const oldest = hasForgotten
      ? events.findIndex((event) => isPassing(event) && kept.has(event.auditId))
      : 0;
    return events.filter(
      (event, index) => !kept.has(event.auditId) && (!isPassing(event) || index >= oldest),
    );
  }

  /** Returns deletions of old events without a status, to make room for new ones. */
  async #surplus({ events }: Numbering): Promise<readonly Change[]> {
    const passing = events.filter(({ event }) => event.status === undefined);
    const newest = new Map(passing.map(({ event, number }) => [event.agentId, number]));
    const surplus: Change[] = [];
    for (const [agentId, number] of newest) {
      const oldest = number - this.#eventsKept;
      if (oldest <= 0) continue;
      const after = eventKey(agentId, oldest + 1);
      const limit = passing.length + EVENTS_LEFT;
      const range = { prefix: `${agentId}/`, after, isReversed: true, limit };
      for (const { key, value } of await this.#store.list(EVENTS, range)) {
        const record = readRecord(value);
        if (record === undefined || readEvent(record)?.status !== undefined) continue;
        surplus.push({ kind: "delete", collection: EVENTS, key });
      }
    }
    return surplus;
  }

  /** Notifies watchers of other writers' changes; own ones were announced when adopted. */
  #follow(agentId: string, before: AgentState | undefined, after: AgentState | undefined): void {
    const unstored = this.#unstored.get(agentId) ?? [];
    const shown = unstored.reduce<AgentState | undefined>(stateAfter, before);
    const now = unstored.reduce<AgentState | undefined>(stateAfter, after);
    if (shown?.status !== now?.status) this.#changed(agentId);
  }

  #changed(agentId: string): void {
    this.#revision += 1;
    for (const watcher of this.#watchers) watcher(agentId);
  }

  /** Puts an event in force that is in the journal already, whatever happens to the store. */
  #adopt(event: LifecycleEvent): void {
    const { agentId, status } = event;
    this.#unstored.set(agentId, [...(this.#unstored.get(agentId) ?? []), event]);
    if (status !== undefined) this.#changed(agentId);
  }

  /** Stores pending events; those that fail are tried again with the next save. */
  save(): Promise<void> {
    return this.#saves.run(() => this.#save());
  }

  async #save(): Promise<void> {
    const saving = [...this.#unstored.values()].flat();
    if (saving.length === 0) return;
    const surplus = await this.#surplus(this.#number(saving));
    let numbering: Numbering | undefined;
    // Numbered again at each attempt, since another node may have stored an event with the same number.
    const decide = (): Numbering["states"] => {
      numbering = this.#number(saving);
      return numbering.states;
    };
    const also = (): readonly Change[] => [
      ...(numbering?.events ?? []).map(({ event, number }) => eventChange(event, number)),
      ...surplus,
    ];
    await this.#stored.putAll(decide, { also });
    const saved = new Set(saving);
    for (const [agentId, events] of this.#unstored) {
      const left = events.filter((event) => !saved.has(event));
      if (left.length === 0) this.#unstored.delete(agentId);
      else this.#unstored.set(agentId, left);
    }
  }

  /** Numbers events after the stored ones of their agents; stored ones are skipped. */
  #number(events: readonly LifecycleEvent[]): Numbering {
    const states = new Map<string, AgentState>();
    const numbered = events.flatMap((event) => {
      const { agentId } = event;
      const before = states.get(agentId) ?? this.#stored.get(agentId);
      if (hasTaken(before, event)) return [];
      const state = stateAfter(before, event);
      states.set(agentId, state);
      return [{ event, number: state.events }];
    });
    return { states, events: numbered };
  }

  #stateOf(agentId: string): AgentState | undefined {
    const stored = this.#stored.get(agentId);
    const unstored = this.#unstored.get(agentId);
    if (unstored === undefined) return stored;
    return unstored.reduce<AgentState | undefined>(stateAfter, stored);
  }
}

/** Numbered events, and the resulting states. */
interface Numbering {
  readonly states: ReadonlyMap<string, AgentState>;
  readonly events: readonly { readonly event: LifecycleEvent; readonly number: number }[];
}
