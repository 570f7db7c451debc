/** Work on very many things, a group at a time: all at once would hold the event loop. */

const SIZE = 100;

/** Works on one group after the other, as one that waits does; answers with what comes of all, in their order. */
export async function inGroups<T, R>(
  items: readonly T[],
  work: (group: readonly T[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += SIZE) {
    results.push(...(await work(items.slice(from, from + SIZE))));
  }
  return results;
}
