/**
 * Ends runs that wait for too long: an interrupt must be answered within its node's timeout and the operator's limit,
 * and a pause within that limit, or the run fails. Otherwise it would use its owner's quota forever.   OpenWOP
 * "interrupt" timeoutMs
 */
import { traceOf } from "../../../base/thrown.ts";
import { endChildren } from "./pause-run.ts";
import { isSuspended } from "./run.ts";
import { endOfWaiting, type RunEntry } from "./run-entry.ts";
import { waitedTooLong } from "./run-events.ts";
import { type Interrupt, openInterrupt, waitingOf } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

export class WaitEnds {
  readonly #parts: RunParts;
  /** Deadlines beyond this interval are left to the periodic `look`. */
  readonly #lookEveryMs: number;
  readonly #ending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** The next deadline, in milliseconds since the epoch. */
  #next: number = Number.POSITIVE_INFINITY;
  #unwatch = (): void => undefined;

  constructor(parts: RunParts, lookEveryMs: number) {
    this.#parts = parts;
    this.#lookEveryMs = lookEveryMs;
  }

  /** Starts watching for runs that begin to wait. */
  start(): void {
    this.#unwatch = this.#parts.register.watch((_, after) => after && this.#note(after));
  }

  close(): void {
    this.#unwatch();
    clearTimeout(this.#timer);
  }

  /** Ends overdue runs and schedules the next deadline. */
  look(): void {
    clearTimeout(this.#timer);
    this.#next = Number.POSITIVE_INFINITY;
    for (const entry of this.#parts.register.inPhase("waiting")) this.#note(entry);
  }

  #note(entry: RunEntry): void {
    const { register, limits } = this.#parts;
    if (!isSuspended(entry.status) || !register.isOurs(entry)) return;
    const { createdAt, waiting = { since: createdAt } } = entry;
    const end = endOfWaiting(waiting, limits);
    const leftMs = end - register.now();
    if (leftMs <= 0) void this.#end(entry.runId);
    else if (leftMs <= this.#lookEveryMs && end < this.#next) {
      this.#next = end;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.look(), leftMs).unref();
    }
  }

  async #end(runId: string): Promise<void> {
    const { logger, redact } = this.#parts;
    if (this.#ending.has(runId)) return;
    this.#ending.add(runId);
    try {
      await endWaiting(runId, this.#parts);
    } catch (error) {
      const trace = redact(traceOf(error));
      logger.warn({ trace, run_id: runId }, "a run that has waited too long could not be ended");
    } finally {
      this.#ending.delete(runId);
    }
  }
}

/** Ends a run if its log confirms that it has waited too long. */
async function endWaiting(runId: string, parts: RunParts): Promise<void> {
  const { register, limits, watchers } = parts;
  const log = await register.log(runId, parts);
  if (log === undefined) return;
  const { run } = log;
  let asked: Interrupt | undefined;
  const said = await log.append((state) => {
    const waiting = waitingOf(state);
    const now = register.now();
    if (waiting === undefined || endOfWaiting(waiting, limits) > now) return [];
    asked = openInterrupt(state);
    return waitedTooLong(state, run, now);
  });
  if (said.length === 0) return;
  if (asked !== undefined) for (const watcher of watchers) watcher.onAnswer(run, asked, undefined);
  await endChildren(parts, run);
}
