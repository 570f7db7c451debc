/**
 * Judges if what one endpoint gives may be what another one takes. Synthesis asks this of an output
 * property and an input property of the same name; the endpoint's own schema still judges the value
 * when the plan runs.   AGTP-API §10.5
 */
import { ANY_KIND, type SchemaKind, type TypedValues } from "./schema-kind.ts";

/**
 * Tells whether every value of the given kind is of the kind that is taken, as far as their types,
 * formats, enums and constants say: each type of a union is taken, an integer is a number, a format
 * that is asked for is given, an enum holds no value that is not asked for. What says nothing about
 * its type fits only what asks for nothing; what never has a value fits everything. Undefined, a
 * kind that could not be worked out, gives anything and takes nothing.
 */
export function isKindCovered(
  given: SchemaKind | undefined,
  taken: SchemaKind | undefined,
): boolean {
  if (taken === undefined) return false;
  for (const [type, alternatives] of given ?? ANY_KIND) {
    const accepted = taken.get(type) ?? [];
    if (!alternatives.every((alternative) => isTaken(alternative, accepted))) return false;
  }
  return true;
}

function isTaken(given: TypedValues, accepted: readonly TypedValues[]): boolean {
  const fitting = accepted.filter(({ formats }) => isSubset(formats, given.formats));
  if (fitting.some(({ values }) => values === undefined)) return true;
  // Listed values may be spread over the branches of a union.
  return (
    given.values !== undefined &&
    [...given.values].every((text) => fitting.some(({ values }) => values?.has(text)))
  );
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((name) => all.has(name));
}
