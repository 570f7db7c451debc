/** Secondary names of a collection's items: indexes, which find one item, and groups, which find several. */

export interface NamingOptions<Item> {
  /** Indexes: of the items that share a name, the newest is found. */
  readonly indexes?: Readonly<Record<string, (item: Item) => string | undefined>>;
  /** Groups: every item that shares a name is found. */
  readonly groups?: Readonly<Record<string, (item: Item) => string | undefined>>;
}

const NO_KEYS: ReadonlySet<string> = new Set();

export class ItemNames<Item> {
  readonly #options: NamingOptions<Item>;
  /** Keys by index and name. */
  readonly #keys = new Map<string, Map<string, string>>();
  /** Keys by group and name, in the order in which they joined. */
  readonly #groups = new Map<string, Map<string, Set<string>>>();

  constructor(options: NamingOptions<Item>) {
    this.#options = options;
    for (const index of Object.keys(options.indexes ?? {})) this.#keys.set(index, new Map());
    for (const group of Object.keys(options.groups ?? {})) this.#groups.set(group, new Map());
  }

  /** Returns the key of the item with a name in an index. */
  keyOf(index: string, name: string): string | undefined {
    return this.#keys.get(index)?.get(name);
  }

  /** Returns the keys of the items with a name in a group, the earliest member first. */
  keysIn(group: string, name: string): ReadonlySet<string> {
    return this.#groups.get(group)?.get(name) ?? NO_KEYS;
  }

  /** Updates the names of an added, changed or deleted item. */
  move(key: string, before: Item | undefined, item: Item | undefined): void {
    for (const [index, nameOf] of Object.entries(this.#options.indexes ?? {})) {
      this.#rename(index, key, [before && nameOf(before), item && nameOf(item)]);
    }
    for (const [group, nameOf] of Object.entries(this.#options.groups ?? {})) {
      this.#regroup(group, key, [before && nameOf(before), item && nameOf(item)]);
    }
  }

  /** An unchanged name stays with its current item: an older one does not take it back. */
  #rename(index: string, key: string, [earlier, name]: Names): void {
    const keys = this.#keys.get(index);
    if (earlier === name) return;
    if (earlier !== undefined && keys?.get(earlier) === key) keys.delete(earlier);
    if (name !== undefined) keys?.set(name, key);
  }

  #regroup(group: string, key: string, [earlier, name]: Names): void {
    const groups = this.#groups.get(group);
    if (groups === undefined || earlier === name) return;
    const left = earlier === undefined ? undefined : groups.get(earlier);
    left?.delete(key);
    if (earlier !== undefined && left?.size === 0) groups.delete(earlier);
    if (name !== undefined) groups.set(name, (groups.get(name) ?? new Set()).add(key));
  }
}

type Names = readonly [earlier: string | undefined, name: string | undefined];
