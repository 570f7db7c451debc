/** Records that this server stored itself: whole, or of another build and then none. */
import { isRecord } from "../../base/json-value.ts";

/** The kinds that a member of a stored record is checked for. */
type MemberKind = "string" | "number" | "boolean" | "object" | "array";

/** Reads records that have all of these members; anything else is none. */
export function recordReader<Item>(
  members: { readonly [Name in keyof Item]?: MemberKind },
): (value: unknown) => Item | undefined {
  const kinds = Object.entries(members) as [string, MemberKind][];
  return (value) => {
    if (!isRecord(value)) return undefined;
    const isWhole = kinds.every(([name, kind]) => {
      if (kind === "array") return Array.isArray(value[name]);
      return kind === "object" ? isRecord(value[name]) : typeof value[name] === kind;
    });
    return isWhole ? (value as Item) : undefined;
  };
}
