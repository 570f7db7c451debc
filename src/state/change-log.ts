/**
 * The latest changes of a store that one process owns: the keys and the revisions that changed them. Kept in memory
 * and bounded, since a reader that falls behind can reload everything.
 */
import type { Change, Feed, StoredEntry } from "./store.ts";

/** A key that a commit changed. */
interface LoggedChange {
  readonly collection: string;
  readonly key: string;
  readonly revision: number;
}

/** Per collection, so that a busy one does not force readers of others to reload. */
const MAX_CHANGES = 4_096;

interface CollectionLog {
  changes: LoggedChange[];
  /** The log is complete after this revision. */
  from: number;
}

export class ChangeLog {
  readonly #logs = new Map<string, CollectionLog>();
  /** The revision at which the log began. */
  readonly #from: number;
  #revision: number;

  constructor(revision: number) {
    this.#revision = revision;
    this.#from = revision;
  }

  /** The revision of the last commit. */
  get revision(): number {
    return this.#revision;
  }

  add(revision: number, changes: readonly Pick<Change, "collection" | "key">[]): void {
    this.#revision = revision;
    for (const { collection, key } of changes) {
      const log = this.#logs.get(collection) ?? { changes: [], from: this.#from };
      this.#logs.set(collection, log);
      log.changes.push({ collection, key, revision });
      if (log.changes.length <= 2 * MAX_CHANGES) continue;
      log.from = log.changes.splice(0, MAX_CHANGES).at(-1)?.revision ?? log.from;
    }
  }

  /** Returns the changes after a revision, each key once, with its current entry. */
  feed(
    after: number,
    only: string | undefined,
    read: (collection: string, key: string) => StoredEntry | undefined,
  ): Feed {
    const changed = this.#after(after, only)?.map(({ collection, key }) => {
      return { collection, key, entry: read(collection, key) };
    });
    return { upTo: this.#revision, changed };
  }

  /** Returns the keys changed after a revision, each once; undefined if the log does not reach back that far. */
  #after(revision: number, collection?: string): readonly LoggedChange[] | undefined {
    if (revision < this.#from) return undefined;
    const latest = new Map<string, LoggedChange>();
    for (const [name, { changes, from }] of this.#logs) {
      if (collection !== undefined && name !== collection) continue;
      if (revision < from) return undefined;
      let at = changes.length;
      while (at > 0 && (changes[at - 1]?.revision ?? 0) > revision) at -= 1;
      for (const change of changes.slice(at)) {
        latest.set(`${change.collection}\0${change.key}`, change);
      }
    }
    return [...latest.values()];
  }
}
