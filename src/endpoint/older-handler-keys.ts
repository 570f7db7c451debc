/**
 * The names that older files have for keys of `[endpoint.handler]`: `reference` for what a binding
 * of its type names, `input_map` and `output_map` for the transforms. They are read as their newer
 * names, each with a warning; beside its newer name an older one is an error.   AGTP-API §12
 */
import type { Problem } from "../base/problem.ts";
import { isTable, type TomlTable } from "../base/toml-document.ts";

type OlderName = readonly [older: string, newer: string];

/** The key that `reference` stands for, by handler type. */
const REFERENCES: ReadonlyMap<unknown, string> = new Map([
  ["registered_function", "function"],
  ["composition", "recipe"],
  ["external_service", "url"],
]);
const TRANSFORMS: readonly OlderName[] = [
  ["input_map", "input_transform"],
  ["output_map", "output_transform"],
];

/** The file with the keys of its handler under their newer names, and what is to be said of them. */
export function readOlderHandlerKeys(
  root: TomlTable,
  file: string,
): { readonly table: TomlTable; readonly problems: readonly Problem[] } {
  const { endpoint } = root;
  const handler = isTable(endpoint) ? endpoint["handler"] : undefined;
  if (!isTable(endpoint) || !isTable(handler)) return { table: root, problems: [] };
  const older = olderNames(handler["type"]).filter(([name]) => Object.hasOwn(handler, name));
  if (older.length === 0) return { table: root, problems: [] };
  const members = new Map(Object.entries(handler));
  const problems = older.map(([name, newer]): Problem => {
    const place = { file, key: `endpoint.handler.${name}` };
    const value = members.get(name);
    members.delete(name);
    if (members.has(newer)) {
      return { ...place, message: `stands beside ${newer}, of which it is the older name` };
    }
    members.set(newer, value);
    const hint = `write ${newer} instead`;
    return { ...place, message: `is the older name of ${newer}`, hint, severity: "warning" };
  });
  const renamed = { ...endpoint, handler: Object.fromEntries(members) };
  return { table: { ...root, endpoint: renamed }, problems };
}

/** Elsewhere they are unknown keys. */
function olderNames(type: unknown): readonly OlderName[] {
  const reference = REFERENCES.get(type);
  if (reference === undefined) return [];
  return [["reference", reference], ...(type === "external_service" ? TRANSFORMS : [])];
}
