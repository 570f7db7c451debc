/**
 * Declares one kind of run: its statuses and their transitions, retention and quota, and where its events are
 * stored. The execution of a step belongs to the driver.
 */
import type { CollectionOptions } from "../state/collection-options.ts";
import { MAX_VALUE_BYTES } from "../state/entry-limits.ts";
import type { Rank } from "../state/quota.ts";
import type { Change } from "../state/store.ts";

/** `active`: a process executes it. `waiting`: it continues once it is answered. `over`: it has ended. */
export type RunPhase = "active" | "waiting" | "over";

interface StatusRule<Status extends string> {
  readonly phase: RunPhase;
  /** The statuses that may follow; staying in this one is always allowed. */
  readonly next: readonly Status[];
  /** The eviction rank of a run in this status when the quota is full, 0 first; undefined: never evicted. */
  readonly rank?: Rank;
}

/** Every status of a kind, with its rule. */
export type StatusMachine<Status extends string> = Readonly<Record<Status, StatusRule<Status>>>;

/** The number of a run's events, which numbers the next, and their size in the store. */
export interface EventCounts {
  readonly eventCount?: number;
  readonly eventBytes?: number;
  /** True if events were dropped. */
  readonly isTruncated?: boolean;
}

export interface NumberedEvent {
  readonly sequence: number;
}

/** One kind of run. Its runs outlive configuration reloads and the process. */
export interface RunKind<Run extends object, Status extends string = string>
  extends Pick<
    CollectionOptions<Run>,
    "name" | "read" | "orderOf" | "forgottenAt" | "groups" | "quota" | "sizeOf"
  > {
  readonly statuses: StatusMachine<Status>;
  statusOf(run: Run): Status;
  /** Returns the run's key in the store. */
  idOf(run: Run): string;
  ownerOf(run: Run): string;
  /** Undefined if the kind has statuses only, and no events. */
  readonly log?: LogPlaces;
  /** Returns further entries of a run, deleted with it. */
  entriesOf?(runId: string): readonly Pick<Change, "collection" | "key">[];
}

/** The collections that hold the events of runs. */
export interface LogPlaces {
  readonly events: string;
  /** The number of the first event. */
  readonly first: 0 | 1;
  /** Further collections whose keys begin with a run id and a slash. */
  readonly beside?: readonly string[];
  /** The collection of deleted runs whose logs may remain. */
  readonly doomed: string;
}

/** The limits on a run's events. */
export interface EventRules<Draft> {
  /** The number of the first event. */
  readonly first: 0 | 1;
  readonly most: number;
  /** The octets of all events together. */
  readonly mostBytes: number;
  /** `refuse`: further events are refused. `drop`: they are left out, and the run is marked as truncated. */
  readonly whenFull: "refuse" | "drop";
  /** True if an event is kept beyond the limits; `count` events exist already. */
  isNeeded(draft: Draft, count: number): boolean;
}

/** Thrown when a run has reached the limit on its events. */
export class RunFullError extends Error {
  constructor() {
    super("the run has too many or too large events");
    this.name = "RunFullError";
  }
}

/** A run with its newly numbered events. */
interface Numbered<Run, Draft> {
  readonly run: Run & EventCounts;
  readonly events: readonly (Draft & NumberedEvent)[];
}

/** The store's limit on a value, less room for the sequence number. */
const MAX_DRAFT_BYTES = MAX_VALUE_BYTES - 64;

/**
 * Numbers drafts from the run's event count on.
 * @throws RunFullError if the run is full and the rules are to refuse, or if a draft is too large for the store
 */
export function numberEvents<Run extends EventCounts, Draft extends object>(
  run: Run,
  drafts: readonly Draft[],
  rules: EventRules<Draft>,
): Numbered<Run, Draft> {
  const { first, most, mostBytes, whenFull, isNeeded } = rules;
  const { eventCount: known = 0, isTruncated: wasTruncated = false } = run;
  let { eventCount = 0, eventBytes = 0 } = run;
  const isGroupNeeded = whenFull === "refuse" && drafts.some((draft) => isNeeded(draft, known));
  let isTruncated = wasTruncated;
  const events = drafts.flatMap((draft) => {
    const bytes = Buffer.byteLength(JSON.stringify(draft));
    if (bytes > MAX_DRAFT_BYTES) throw new RunFullError();
    const isFull = eventCount >= most || eventBytes + bytes > mostBytes;
    if (isFull && !isGroupNeeded && whenFull === "refuse") throw new RunFullError();
    if (isFull && whenFull === "drop" && !isNeeded(draft, eventCount)) {
      isTruncated = true;
      return [];
    }
    const event = { sequence: first + eventCount, ...draft };
    eventCount += 1;
    eventBytes += bytes;
    return [event];
  });
  const truncated = isTruncated ? { isTruncated } : {};
  return { run: { ...run, eventCount, eventBytes, ...truncated }, events };
}
