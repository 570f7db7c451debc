/**
 * The properties of one kind of runs: its statuses and where they lead, how long its runs
 * are kept and how many, and where its events lie. How a step is taken is the driver's own.
 */
import type { CollectionOptions } from "../state/collection-options.ts";
import { MAX_VALUE_BYTES } from "../state/entry-limits.ts";
import type { Rank } from "../state/quota.ts";
import type { Change } from "../state/store.ts";

/** `active`: somebody works at it. `waiting`: it goes on with somebody's answer. `over`: it does not. */
export type RunPhase = "active" | "waiting" | "over";

interface StatusRule<Status extends string> {
  readonly phase: RunPhase;
  /** The statuses that may come after it; it may stay as it is besides. */
  readonly next: readonly Status[];
  /**
   * The rank by which a run in it is evicted where there is no room, 0 first; without this, never.
   */
  readonly rank?: Rank;
}

/** Every status of a kind. */
export type StatusMachine<Status extends string> = Readonly<Record<Status, StatusRule<Status>>>;

/** How many events a run has, which are numbered by it, and what they take in the store. */
export interface EventCounts {
  readonly eventCount?: number;
  readonly eventBytes?: number;
  /** True if there were more than are kept. */
  readonly isTruncated?: boolean;
}

export interface NumberedEvent {
  readonly sequence: number;
}

/** One kind of runs; they outlive the reloads of the configuration, and the process. */
export interface RunKind<Run extends object, Status extends string = string>
  extends Pick<
    CollectionOptions<Run>,
    "name" | "read" | "orderOf" | "forgottenAt" | "groups" | "quota" | "sizeOf"
  > {
  readonly statuses: StatusMachine<Status>;
  statusOf(run: Run): Status;
  /** The key that it is kept under. */
  idOf(run: Run): string;
  ownerOf(run: Run): string;
  /** Undefined: nothing is told of its runs but where they stand. */
  readonly log?: LogPlaces;
  /** Other entries of a run, which are deleted with it. */
  entriesOf?(runId: string): readonly Pick<Change, "collection" | "key">[];
}

/** The collections that the events of runs lie in. */
export interface LogPlaces {
  readonly events: string;
  /** The number of the first event. */
  readonly first: 0 | 1;
  /** Others whose keys begin with the id of a run and a slash, too. */
  readonly beside?: readonly string[];
  /** Where it is noted that a run is deleted, and its log may not be. */
  readonly doomed: string;
}

/** The most events that a run may have. */
export interface EventRules<Draft> {
  /** The number of the first one. */
  readonly first: 0 | 1;
  readonly most: number;
  /** The octets of all of them. */
  readonly mostBytes: number;
  /** `refuse`: beyond that there are no more. `drop`: they are left out, and the run says so. */
  readonly whenFull: "refuse" | "drop";
  /** Tells whether an event is kept beyond that, where there are `count` already. */
  isNeeded(draft: Draft, count: number): boolean;
}

/** A run has as many events as it may have. */
export class RunFullError extends Error {
  constructor() {
    super("the run has too many or too large events");
    this.name = "RunFullError";
  }
}

/** A run with more events. */
interface Numbered<Run, Draft> {
  readonly run: Run & EventCounts;
  readonly events: readonly (Draft & NumberedEvent)[];
}

/** The store takes no more, and its number comes to a draft. */
const MAX_DRAFT_BYTES = MAX_VALUE_BYTES - 64;

/**
 * Numbers drafts from where the run stands.
 * @throws RunFullError where there is no room for them and the rules are to refuse, or for one in the store
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
