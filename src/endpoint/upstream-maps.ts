/**
 * The maps of an external service: names on this side to names on the other side, and statuses to
 * declared errors. Each direction must be unambiguous, because one of them is read backwards.
 * AGTP-API §12.3
 */
import type { TableReader } from "../base/table-reader.ts";

const STATUS = /^[1-5]\d\d$/;

/** AGTP name to upstream name. */
export function readTransform(table: TableReader, key: string): Readonly<Record<string, string>> {
  const transform = table.optionalTable(key);
  if (transform === undefined) return {};
  const names = new Map(table.textEntries(key));
  reportCollisions(transform, names);
  return Object.fromEntries(names);
}

/** Reports upstream names that two fields take. */
export function reportCollisions(table: TableReader, names: ReadonlyMap<string, string>): void {
  const owners = new Map<string, string>();
  for (const [name, upstream] of names) {
    const other = owners.get(upstream);
    if (other !== undefined) {
      table.fail(name, `takes the upstream name "${upstream}", which "${other}" has already`);
    }
    owners.set(upstream, name);
  }
}

/** A field that is not renamed keeps its name, which no renamed one may take. */
export function checkPassThrough(
  table: TableReader,
  transform: Readonly<Record<string, string>>,
  fields: ReadonlySet<string>,
): void {
  for (const [name, upstream] of Object.entries(transform)) {
    if (!fields.has(upstream) || !fields.has(name) || Object.hasOwn(transform, upstream)) continue;
    const message = `"${name}" takes the name of the field "${upstream}", which is not renamed`;
    table.fail("input_transform", message);
  }
}

/** Upstream status to declared error. */
export function readErrorMap(
  table: TableReader,
  errors: readonly string[],
): Readonly<Record<string, string>> {
  const map = table.optionalTable("error_map");
  if (map === undefined) return {};
  const entries = table.textEntries("error_map");
  for (const [status, name] of entries) {
    if (!STATUS.test(status)) map.fail(status, "is no HTTP status, expected three digits");
    if (!errors.includes(name)) map.fail(status, `is "${name}", which errors does not declare`);
  }
  return Object.fromEntries(entries);
}
