/**
 * The latest changes of a store that one process has to itself: which keys, and with which revision.
 * It is in memory and bounded, since whoever reads it can load everything anew.
 */
import type { Change } from "./store.ts";

/** One key that a commit has changed. */
export interface LoggedChange {
  readonly collection: string;
  readonly key: string;
  readonly revision: number;
}

const MAX_CHANGES = 4_096;

export class ChangeLog {
  #changes: LoggedChange[] = [];
  #revision: number;
  /** The revision after which the log is complete. */
  #from: number;

  constructor(revision: number) {
    this.#revision = revision;
    this.#from = revision;
  }

  /** Of the last commit. */
  get revision(): number {
    return this.#revision;
  }

  add(revision: number, changes: readonly Pick<Change, "collection" | "key">[]): void {
    this.#revision = revision;
    for (const { collection, key } of changes) this.#changes.push({ collection, key, revision });
    if (this.#changes.length <= 2 * MAX_CHANGES) return;
    const gone = this.#changes.splice(0, this.#changes.length - MAX_CHANGES);
    this.#from = gone.at(-1)?.revision ?? this.#from;
  }

  /** The keys that changed after a revision, each once; undefined: the log does not say. */
  after(revision: number): readonly LoggedChange[] | undefined {
    if (revision < this.#from) return undefined;
    const latest = new Map<string, LoggedChange>();
    for (const change of this.#changes) {
      if (change.revision <= revision) continue;
      latest.set(`${change.collection}\0${change.key}`, change);
    }
    return [...latest.values()];
  }
}
