/** Renames the top-level keys of objects: what the transforms of §12.3 do, in either direction. */

/** A new object; a renamed value wins over one that had the name already. */
export function renameKeys(
  record: Readonly<Record<string, unknown>>,
  names: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  const renamed: [string, unknown][] = [];
  for (const [key, value] of Object.entries(record)) {
    const name = names.get(key);
    if (name === undefined) kept.push([key, value]);
    else renamed.push([name, value]);
  }
  // fromEntries defines properties, so a key "__proto__" is a key like any other.
  return Object.fromEntries([...kept, ...renamed]);
}
