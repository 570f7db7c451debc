/** Processes many items in groups, since all at once would block the event loop. */

const SIZE = 100;

/** Processes one group after the other; returns all results, in order. */
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
