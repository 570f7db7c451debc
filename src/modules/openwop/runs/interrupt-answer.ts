/** An answer that a run waits for, by whatever kind of wait, and whose it is.   OpenWOP "interrupt" */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Run } from "./run.ts";
import type { EventDraft } from "./run-event.ts";
import type { Interrupt, InterruptKind, RunState } from "./run-state.ts";

/** An answer, and whose it is. */
export interface InterruptAnswer {
  readonly resumeValue: unknown;
  readonly by: string;
}

/** The state of the run when the answer comes. */
export interface Answering {
  readonly state: RunState;
  readonly run: Run;
  readonly now: number;
}

/** The interrupt has what it waited for. */
export function resolved(
  { nodeId, interruptId, kind }: Interrupt,
  { resumeValue, by }: InterruptAnswer,
  now: number,
  more: JsonRecord = {},
): EventDraft {
  const times = { resolvedBy: by, resolvedAt: new Date(now).toISOString() };
  const payload = { nodeId, interruptId, kind, resumeValue, ...times, ...more };
  return { type: "interrupt.resolved", nodeId, payload };
}

/** A plain yes or no, in the form that the kind of wait understands. */
export function plainAnswer(kind: InterruptKind, isAccepted: boolean, reason?: string): JsonRecord {
  const comment = reason === undefined ? {} : { comment: reason };
  if (kind === "approval") return { action: isAccepted ? "accept" : "reject", ...comment };
  return {
    [isAccepted ? "ratified" : "rejected"]: true,
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Hears of interrupts of runs. */
export interface RunWatcher {
  onInterrupt(run: Run, interrupt: Interrupt): void;
  /** The run has its answer; undefined: it is cancelled. */
  onAnswer(run: Run, interrupt: Interrupt, answer: InterruptAnswer | undefined): void;
}

/** Tells every watcher. */
export class RunWatchers implements RunWatcher {
  readonly #watchers = new Set<RunWatcher>();

  add(watcher: RunWatcher): void {
    this.#watchers.add(watcher);
  }

  onInterrupt(...told: Parameters<RunWatcher["onInterrupt"]>): void {
    for (const watcher of this.#watchers) watcher.onInterrupt(...told);
  }

  onAnswer(...told: Parameters<RunWatcher["onAnswer"]>): void {
    for (const watcher of this.#watchers) watcher.onAnswer(...told);
  }
}
