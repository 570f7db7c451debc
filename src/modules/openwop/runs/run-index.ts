/** What is known of every run in memory: whose they are, which are not over, which may go first. */
import { isOver, ownerKey } from "./run.ts";
import type { RunEntry } from "./run-storage.ts";

export class RunIndex {
  readonly #entries = new Map<string, RunEntry>();
  /** Run ids by owner, the oldest first. */
  readonly #byOwner = new Map<string, Set<string>>();
  /** Run ids by the run that they were begun for. */
  readonly #byRoot = new Map<string, Set<string>>();

  get size(): number {
    return this.#entries.size;
  }

  get(runId: string): RunEntry | undefined {
    return this.#entries.get(runId);
  }

  set(entry: RunEntry): void {
    this.#entries.set(entry.runId, entry);
    const owner = ownerKey(entry);
    const runs = this.#byOwner.get(owner);
    if (runs === undefined) this.#byOwner.set(owner, new Set([entry.runId]));
    else runs.add(entry.runId);
    if (entry.rootRunId === undefined) return;
    const tree = this.#byRoot.get(entry.rootRunId);
    if (tree === undefined) this.#byRoot.set(entry.rootRunId, new Set([entry.runId]));
    else tree.add(entry.runId);
  }

  delete(runId: string): void {
    const entry = this.#entries.get(runId);
    if (entry === undefined) return;
    this.#entries.delete(runId);
    const owner = ownerKey(entry);
    const runs = this.#byOwner.get(owner);
    runs?.delete(runId);
    if (runs?.size === 0) this.#byOwner.delete(owner);
    const { rootRunId = "" } = entry;
    const tree = this.#byRoot.get(rootRunId);
    tree?.delete(runId);
    if (tree?.size === 0) this.#byRoot.delete(rootRunId);
  }

  /** Those that were begun for a run, at any depth. */
  ofTree(rootRunId: string): readonly RunEntry[] {
    const runs = this.#byRoot.get(rootRunId) ?? [];
    return [...runs].flatMap((runId) => this.#entries.get(runId) ?? []);
  }

  /** The oldest first. */
  ofOwner(owner: Parameters<typeof ownerKey>[0]): readonly RunEntry[] {
    const runs = this.#byOwner.get(ownerKey(owner)) ?? [];
    return [...runs].flatMap((runId) => this.#entries.get(runId) ?? []);
  }

  unfinished(): readonly RunEntry[] {
    return [...this.#entries.values()].filter(({ status }) => !isOver(status));
  }

  /** The oldest that are over, whosever they are. */
  oldestOver(count: number, except: ReadonlySet<RunEntry>): readonly RunEntry[] {
    const found: RunEntry[] = [];
    for (const entry of this.#entries.values()) {
      if (found.length === count) break;
      if (isOver(entry.status) && !except.has(entry)) found.push(entry);
    }
    return found;
  }

  /** Those that were over before a moment. */
  overBefore(moment: number): readonly RunEntry[] {
    return [...this.#entries.values()].filter(
      ({ endedAt }) => endedAt !== undefined && endedAt < moment,
    );
  }
}
