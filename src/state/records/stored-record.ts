/** Reads records that this server stored; one of another build that lacks a member is dropped. */
import { isRecord } from "../../base/json-value.ts";

/** The types for which a member is checked. */
type MemberKind = "string" | "number" | "boolean" | "object" | "array";

/** Returns a reader for records with these members; it returns undefined for anything else. */
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
