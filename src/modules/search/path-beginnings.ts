/** Finds whether a path begins with one of many texts, without comparing it with each. */

/** In their order, without those that another one begins. */
export function withoutLonger(beginnings: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const text of [...beginnings].sort()) {
    const last = kept.at(-1);
    if (last === undefined || !text.startsWith(last)) kept.push(text);
  }
  return kept;
}

/** Only the last one that is not after the path can begin it. */
export function hasBeginning(path: string, sorted: readonly string[]): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") <= path) low = middle + 1;
    else high = middle;
  }
  const last = sorted[low - 1];
  return last !== undefined && path.startsWith(last);
}
