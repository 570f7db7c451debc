/** Numbers the events of a run, as many of them as it may have. */
import type { EventCounts, NumberedEvent } from "./run-kind.ts";

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
export interface Numbered<Run, Draft> {
  readonly run: Run & EventCounts;
  readonly events: readonly (Draft & NumberedEvent)[];
}

/**
 * Numbers drafts from where the run stands.
 * @throws RunFullError where there is no room for them, and the rules are to refuse
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
