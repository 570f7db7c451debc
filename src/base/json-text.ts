/**
 * Writes JSON as `JSON.stringify` does, sooner where a value is a small object of scalars, as most results of handlers
 * are: of an answer to a pipelined request, a twentieth.
 */

/** Texts that are written as they are: ASCII without quotes, backslashes and controls. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Longer texts are left to `JSON.stringify`. */
const MAX_TEXT_LENGTH = 256;

/** So are objects with more members, which take longer piece by piece. */
const MAX_MEMBERS = 32;

/** The name of a member as it is written, first in its object and later. */
interface Opening {
  readonly first: string;
  readonly later: string;
}

/** Few, and begun anew when there are so many: an object may be a map by names that never come again. */
const openings = new Map<string, Opening>();
const MAX_NAMES = 1024;

/** A value as `JSON.stringify` writes it; undefined for what has no JSON form. Throws as that does. */
export function writeJson(value: unknown): string | undefined {
  return writeFlat(value) ?? JSON.stringify(value);
}

/** Undefined: it is anything but a plain object of a few scalars. */
function writeFlat(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (toJSON !== undefined || Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  let text = "";
  let members = 0;
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    members += 1;
    if (members > MAX_MEMBERS) return undefined;
    const known = openings.get(name) ?? keepOpening(name);
    const member: unknown = (value as Readonly<Record<string, unknown>>)[name];
    if (known === undefined) return undefined;
    const opening = text === "" ? known.first : known.later;
    if (typeof member === "string") {
      if (member.length > MAX_TEXT_LENGTH || !PLAIN.test(member)) return undefined;
      text += `${opening}"${member}"`;
    } else if (typeof member === "number") {
      if (!Number.isFinite(member)) return undefined;
      text += `${opening}${member}`;
    } else if (typeof member === "boolean" || member === null) text += `${opening}${member}`;
    else return undefined;
  }
  return text === "" ? "{}" : `${text}}`;
}

function keepOpening(name: string): Opening | undefined {
  if (name.length > MAX_TEXT_LENGTH || !PLAIN.test(name)) return undefined;
  if (openings.size >= MAX_NAMES) openings.clear();
  const opening = { first: `{"${name}":`, later: `,"${name}":` };
  openings.set(name, opening);
  return opening;
}
