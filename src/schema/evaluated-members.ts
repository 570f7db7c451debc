/**
 * Which members and items of a value some schema has looked at, as the `unevaluated…` keywords need
 * to know.   JSON Schema 2020-12 §11
 */

/** Members and items that were looked at. */
export class EvaluatedMembers {
  readonly names: Set<string> = new Set();
  readonly indexes: Set<number> = new Set();
  #hasAllNames = false;
  #items = 0;

  get hasAllNames(): boolean {
    return this.#hasAllNames;
  }

  /** So many items, from the first on. */
  get items(): number {
    return this.#items;
  }

  takeAllNames(): void {
    this.#hasAllNames = true;
  }

  countItems(count: number): void {
    this.#items = Math.max(this.#items, count);
  }

  add(other: EvaluatedMembers): void {
    for (const name of other.names) this.names.add(name);
    for (const index of other.indexes) this.indexes.add(index);
    this.#hasAllNames ||= other.hasAllNames;
    this.countItems(other.items);
  }
}
