/**
 * `uniqueItems` in time linear in the array. The validator's own compares each item with every
 * other one, so that a body of a megabyte could keep the daemon busy for minutes.
 */
import type { FuncKeywordDefinition } from "ajv";
import canonicalize from "canonicalize";

/** The keyword, to be added in place of the validator's own. */
export const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  errors: false,
  error: { message: "must not have duplicate items" },
  validate: (isRequired: boolean, items: readonly unknown[]): boolean =>
    !isRequired || hasUniqueItems(items),
};

function hasUniqueItems(items: readonly unknown[]): boolean {
  const scalars = new Set<unknown>();
  const structures = new Set<string>();
  for (const item of items) {
    if (typeof item === "object" && item !== null) structures.add(canonicalize(item) ?? "");
    else scalars.add(item);
  }
  return scalars.size + structures.size === items.length;
}
