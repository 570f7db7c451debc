/**
 * `enum`, `const` and `uniqueItems`, which compare whole values. The validator's own comparison can
 * be made to throw by a member named `valueOf`, and compares each item with every other one, so
 * that a body of a megabyte could keep the daemon busy for minutes. Here values are compared by
 * their canonical text, in time linear in their size.
 */
import { _, type FuncKeywordDefinition } from "ajv";

/** The keywords, to be added in place of the validator's own. */
export const EQUALITY_KEYWORDS: readonly (FuncKeywordDefinition & { readonly keyword: string })[] =
  [
    {
      keyword: "enum",
      schemaType: "array",
      errors: false,
      error: {
        message: "must be one of the allowed values",
        params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
      },
      compile: compileMembership,
    },
    {
      keyword: "const",
      errors: false,
      error: {
        message: "must be the allowed value",
        params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}`,
      },
      compile: (value: unknown) => compileMembership([value]),
    },
    {
      keyword: "uniqueItems",
      type: "array",
      schemaType: "boolean",
      errors: false,
      error: { message: "must not have duplicate items" },
      compile: (isRequired: boolean) => (isRequired ? hasUniqueItems : () => true),
    },
  ];

/** Tells whether a value equals one of those. */
export function compileMembership(values: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(values.filter((value) => !isStructure(value)));
  const structures = new Set(values.filter(isStructure).map(canonicalText));
  return (value) => {
    if (!isStructure(value)) return scalars.has(value);
    return structures.size > 0 && structures.has(canonicalText(value));
  };
}

/** Tells whether no two items are equal. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  const scalars = new Set<unknown>();
  const structures = new Set<string>();
  for (const item of items) {
    if (isStructure(item)) structures.add(canonicalText(item));
    else scalars.add(item);
  }
  return scalars.size + structures.size === items.length;
}

function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** JSON with sorted members, the same for equal values. Not RFC 8785, which refuses texts that JSON can hold. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isStructure(value)) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`,
  );
  return `{${members.sort().join(",")}}`;
}
