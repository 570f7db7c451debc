/** The logs of runs that somebody works with: there is one of a run as long as anybody does. */
import type { RunLog } from "./run-log.ts";

/** The number of remembered logs from which on those that are gone are looked for. */
const MIN_CLEANING = 256;

export class OpenLogs {
  readonly #logs = new Map<string, WeakRef<RunLog>>();
  /** The logs that are being created or read. */
  readonly #opening = new Map<string, Promise<RunLog | undefined>>();
  #logsBeforeCleaning = MIN_CLEANING;

  /** The log of a run; `open` is called where nobody has it. */
  async find(runId: string, open: () => Promise<RunLog | undefined>): Promise<RunLog | undefined> {
    const known = this.#logs.get(runId)?.deref() ?? this.#opening.get(runId);
    if (known !== undefined) return known;
    const opening = open()
      .then((log) => {
        if (log !== undefined) this.#remember(log);
        return log;
      })
      .finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  /** The log of a run, where somebody works with it. */
  peek(runId: string): RunLog | undefined {
    return this.#logs.get(runId)?.deref();
  }

  forget(runId: string): void {
    this.#logs.delete(runId);
  }

  #remember(log: RunLog): void {
    this.#logs.set(log.run.runId, new WeakRef(log));
    if (this.#logs.size < this.#logsBeforeCleaning) return;
    for (const [runId, known] of this.#logs) {
      if (known.deref() === undefined) this.#logs.delete(runId);
    }
    this.#logsBeforeCleaning = 2 * this.#logs.size + MIN_CLEANING;
  }
}
