/**
 * The latest changes of a store that one process has to itself: which keys, and with which revision.
 * It is in memory and bounded, since whoever reads it can load everything anew.
 */
import type { Change, Feed, StoredEntry } from "./store.ts";

/** One key that a commit has changed. */
interface LoggedChange {
  readonly collection: string;
  readonly key: string;
  readonly revision: number;
}

/** Of one collection: what happens in another makes nobody load anew. */
const MAX_CHANGES = 4_096;

interface CollectionLog {
  changes: LoggedChange[];
  /** The revision after which the log is complete. */
  from: number;
}

export class ChangeLog {
  readonly #logs = new Map<string, CollectionLog>();
  /** Where the log began. */
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

  /** The feed of what changed after a revision, each key once with its entry of now. */
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

  /** The keys that changed after a revision, each once; undefined: the log does not say. */
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
