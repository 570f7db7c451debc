/**
 * The serving processes, according to the node table. A process is gone if a look that began after it was asked
 * about does not find it, or finds its heartbeat unchanged for its lease.
 */
import type { Holders } from "./holders.ts";

/** The most processes asked about at once; beyond it, all are forgotten. */
const MAX_ASKED = 4_096;

export class LiveProcesses implements Holders {
  readonly self: string;
  /** By process asked about: true once it is gone. */
  readonly #asked = new Map<string, boolean>();
  readonly #watchers = new Set<() => void>();
  #live: ReadonlySet<string> = new Set();

  constructor(self: string) {
    this.self = self;
  }

  isGone(process: string): boolean {
    if (process === this.self) return false;
    const isGone = this.#asked.get(process);
    if (isGone !== undefined) return isGone;
    if (this.#asked.size >= MAX_ASKED) this.#asked.clear();
    this.#asked.set(process, false);
    return false;
  }

  watch(onGone: () => void): () => void {
    this.#watchers.add(onGone);
    return () => void this.#watchers.delete(onGone);
  }

  /** Begins a look; the returned function is called with its result. */
  look(): (live: ReadonlySet<string>) => void {
    const asked = [...this.#asked.keys()];
    return (live) => {
      const left = [...this.#live].some((process) => !live.has(process));
      this.#live = live;
      let isFound = left;
      for (const process of asked) {
        const isGone = !live.has(process);
        if (isGone && this.#asked.get(process) === false) isFound = true;
        if (this.#asked.has(process)) this.#asked.set(process, isGone);
      }
      if (isFound) for (const onGone of [...this.#watchers]) onGone();
    };
  }
}
