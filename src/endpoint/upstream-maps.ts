/**
 * The maps of an external service: names on this side to names on the other side, and statuses to
 * declared errors. Each direction must be unambiguous, because one of them is read backwards.
 * AGTP-API §12.3
 */
import type { DocumentPlace } from "../base/document-place.ts";

const STATUS = /^[1-5]\d\d$/;

/** AGTP name to upstream name. */
export function readTransform(table: DocumentPlace, key: string): Readonly<Record<string, string>> {
  const transform = table.at(key).optional?.record();
  if (transform === undefined) return {};
  const names = new Map(table.at(key).textEntries());
  reportCollisions(transform, names);
  return Object.fromEntries(names);
}

/** Reports upstream names that two fields take. */
export function reportCollisions(table: DocumentPlace, names: ReadonlyMap<string, string>): void {
  const owners = new Map<string, string>();
  for (const [name, upstream] of names) {
    const other = owners.get(upstream);
    if (other !== undefined) {
      table.at(name).fail(`takes the upstream name "${upstream}", which "${other}" has already`);
    }
    owners.set(upstream, name);
  }
}

/** A field that is not renamed keeps its name, which no renamed one may take. */
export function checkPassThrough(
  table: DocumentPlace,
  transform: Readonly<Record<string, string>>,
  fields: ReadonlySet<string>,
): void {
  for (const [name, upstream] of Object.entries(transform)) {
    if (!fields.has(upstream) || !fields.has(name) || Object.hasOwn(transform, upstream)) continue;
    const message = `"${name}" takes the name of the field "${upstream}", which is not renamed`;
    table.at("input_transform").fail(message);
  }
}

/** Upstream status to declared error. */
export function readErrorMap(
  table: DocumentPlace,
  errors: readonly string[],
): Readonly<Record<string, string>> {
  const map = table.at("error_map").optional?.record();
  if (map === undefined) return {};
  const entries = table.at("error_map").textEntries();
  for (const [status, name] of entries) {
    if (!STATUS.test(status)) map.at(status).fail("is no HTTP status, expected three digits");
    if (!errors.includes(name)) map.at(status).fail(`is "${name}", which errors does not declare`);
  }
  return Object.fromEntries(entries);
}
