/** Lists of items by key, each created with its first item. */

interface Lists<Key, Item> {
  get(key: Key): Item[] | undefined;
  set(key: Key, items: Item[]): unknown;
}

/** Adds an item to the list of a key. */
export function addUnder<Key, Item>(lists: Lists<Key, Item>, key: Key, item: Item): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [item]);
  else known.push(item);
}
