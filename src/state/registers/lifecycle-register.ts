/**
 * Where each hosted agent stands, over what its document says, and the stream of events that brought it there.
 * An event is a record of the agent's chain; the state follows it, also after a crash between the two. Of the
 * others the latest are kept: the journal has all of them.   AGTP "Agent Lifecycle", AGTP-LOG "Local Stream"
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

/** A decided change; `record` writes its event. */
interface LifecycleChange {
  readonly method: LifecycleMethod;
  readonly agent: AgentDocument;
  /** Makes the event a record of the agent's chain; undefined when it could not be written. */
  record(extension: Readonly<Record<string, unknown>>): Promise<JournalRecord | undefined>;
  /** Members of the event beside its type and states. */
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
  /** Nothing has changed. */
  | { readonly kind: "unrecorded" }
  | Extract<Transition, { readonly kind: "invalid" | "conflict" }>;

/** The events of an agent that are kept, beside those that changed where it stands: those are for good. */
const EVENTS_KEPT = 10_000;
/** Where another node stores events meanwhile, so many that had to go may be left for the next. */
const EVENTS_LEFT = 8;
const SAVE_AGAIN_MS = 500;

export class LifecycleRegister {
  readonly #store: Store;
  readonly #eventsKept: number;
  readonly #stored: Collection<AgentState>;
  /** By agent, events that are not in the store yet: they are in the journal, and so they hold. */
  readonly #unstored = new Map<string, readonly LifecycleEvent[]>();
  /** Ends with the save that is under way. */
  readonly #saves = new Turns();
  #retry: NodeJS.Timeout | undefined;
  /** By agent: its changes are decided one after the other. */
  readonly #turns = new KeyedTurns();
  #revision = 0;
  readonly #watchers = new Set<(agentId: string) => void>();

  private constructor(store: Store, stored: Collection<AgentState>, eventsKept: number) {
    this.#store = store;
    this.#stored = stored;
    this.#eventsKept = eventsKept;
  }

  /** Opens the register; `journaled` are records that the store may not have seen. */
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

  /** The agent's status now: its last event's, else its document's. */
  statusOf({ agentId, status }: AgentDocument): AgentStatus {
    return this.#stateOf(agentId)?.status ?? status;
  }

  /** Grows whenever an agent comes to another status. */
  get revision(): number {
    return this.#revision;
  }

  /** Hears of each agent that comes to another status. Returns the end of it. */
  watch(watcher: (agentId: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** When the agent came to its status; undefined without an event. */
  statusSince({ agentId }: AgentDocument): string | undefined {
    return this.#stateOf(agentId)?.since;
  }

  /** The way on that was told when the agent was deprecated; undefined: none, or it is not. */
  migrationOf({ agentId }: AgentDocument): AgentMigration | undefined {
    return this.#stateOf(agentId)?.migration;
  }

  /** Decides a change and makes it, after those of this agent that came before. */
  apply(change: LifecycleChange): Promise<LifecycleOutcome> {
    const { agentId } = change.agent;
    return this.#turns.run(agentId, () => this.#decide(change));
  }

  /** Puts an event into its agent's stream that does not change where the agent stands. */
  async append(record: JournalRecord): Promise<void> {
    const event = readEvent(record);
    if (event === undefined) throw new Error("an event of the stream cannot be read back");
    this.#adopt(event);
    await this.#whereverItIsKept(() => this.save());
  }

  /**
   * Makes up for events that are records and that the store has lost, or never had: those of its replica,
   * or of a node that was killed. Only what changes where an agent stands.
   */
  async replay(journaled: readonly JournalRecord[]): Promise<void> {
    for (const event of journaled.flatMap((record) => readEvent(record) ?? [])) {
      if (!this.#isLost(event)) continue;
      await this.#turns.run(event.agentId, () => this.#restore(event));
    }
  }

  /** Restores an event; one of the nodes that do so at the same time does. */
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

  /** The times of a chain never go back, and nothing comes after a retirement. */
  #isLost({ agentId, status, at }: LifecycleEvent): boolean {
    const known = this.#stateOf(agentId);
    if (status === undefined || known?.status === "retired") return false;
    const { since = "" } = known ?? {};
    return since < at || (since === at && known?.status !== status);
  }

  /** An event in the journal holds, also while the store fails: it is saved with the next change. */
  async #whereverItIsKept(save: () => Promise<void>): Promise<void> {
    try {
      await save();
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
    }
  }

  /** The newest events of an agent's stream, newest first. */
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

  /** Other nodes hear of a state from the store: nobody is answered before it is there, and they have. */
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

  /** Saves a change that holds here until the other nodes have it, though nobody asks again. */
  #saveLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.save().catch((error: unknown) => {
        if (isStoreUnavailable(error)) this.#saveLater();
      });
    }, SAVE_AGAIN_MS).unref();
  }

  /** The events of an agent that are not in the store, and never were; in a turn of its own, as streams are long. */
  async #missing(agentId: string, events: readonly LifecycleEvent[]) {
    await nextTurn();
    const entries = await this.#store.list(EVENTS, { prefix: `${agentId}/` });
    const kept = new Set(entries.map(({ value }) => readRecord(value)?.auditId));
    const isPassing = ({ status }: LifecycleEvent): boolean => status === undefined;
    const hasForgotten = (this.#stateOf(agentId)?.events ?? 0) > this.#eventsKept;
    // An event older than a kept one was forgotten on purpose.
    const oldest = hasForgotten
      ? events.findIndex((event) => isPassing(event) && kept.has(event.auditId))
      : 0;
    return events.filter(
      (event, index) => !kept.has(event.auditId) && (!isPassing(event) || index >= oldest),
    );
  }

  /** For events that change nothing older such events of their agents go. */
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

  /** Another writer's change shows here as well; one of our own was shown when it was adopted. */
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

  /** The event is in the journal already, so it holds whatever becomes of the store. */
  #adopt(event: LifecycleEvent): void {
    const { agentId, status } = event;
    this.#unstored.set(agentId, [...(this.#unstored.get(agentId) ?? []), event]);
    if (status !== undefined) this.#changed(agentId);
  }

  /** Stores what is not stored yet; what cannot be now is tried again with the next. */
  save(): Promise<void> {
    return this.#saves.run(() => this.#save());
  }

  async #save(): Promise<void> {
    const saving = [...this.#unstored.values()].flat();
    if (saving.length === 0) return;
    const surplus = await this.#surplus(this.#number(saving));
    let numbering: Numbering | undefined;
    // Numbered anew where another node has stored an event meanwhile: no two have one number.
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

  /** Numbers events behind what is stored of their agents; those that are stored already have a number. */
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

/** Events with their numbers, and where they bring their agents. */
interface Numbering {
  readonly states: ReadonlyMap<string, AgentState>;
  readonly events: readonly { readonly event: LifecycleEvent; readonly number: number }[];
}
