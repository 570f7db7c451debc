/** Joins the outputs of a composition's steps to one body.   AGTP-API §12.1 */
import { isRecord } from "../base/json-value.ts";
import type { Aggregation } from "../endpoint/recipe.ts";

/** The output of one step. */
export interface StepOutput {
  /** Its capture name, else `step_N`. */
  readonly name: string;
  readonly value: unknown;
}

/** The body of a composition whose steps all succeeded. */
export function aggregate(aggregation: Aggregation, outputs: readonly StepOutput[]): unknown {
  if (typeof aggregation !== "string") return pickMembers(aggregation.members, outputs);
  switch (aggregation) {
    case "last":
      return outputs.at(-1)?.value ?? {};
    case "merge":
      return mergeOutputs(outputs);
    case "list":
      return { results: outputs.map(({ value }) => value) };
  }
}

/** Later members win; what is no object stands under its step's name. */
function mergeOutputs(outputs: readonly StepOutput[]): Record<string, unknown> {
  // fromEntries defines properties, so a member "__proto__" is a member like any other.
  return Object.fromEntries(
    outputs.flatMap(({ name, value }): [string, unknown][] =>
      isRecord(value) ? Object.entries(value) : [[name, value]],
    ),
  );
}

/** Picks members of step outputs; a member that a step leaves out is left out of the body. */
function pickMembers(
  members: Readonly<Record<string, string>>,
  outputs: readonly StepOutput[],
): Record<string, unknown> {
  const values = new Map(outputs.map(({ name, value }) => [name, value]));
  return Object.fromEntries(
    Object.entries(members).flatMap(([member, name]): [string, unknown][] => {
      const value = values.get(name);
      return isRecord(value) && Object.hasOwn(value, member) ? [[member, value[member]]] : [];
    }),
  );
}
