/** The small rules that merging is made of: which of two values counts, and which of two objects. */
import { type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { Fields } from "../manifest/field.ts";

/** A block of which every leaf is there; null is what nobody said. */
export type Filled<Block> = {
  readonly [Key in keyof Block]-?: FilledMember<NonNullable<Block[Key]>>;
};

type FilledMember<Member> = Member extends readonly unknown[]
  ? Member | null
  : Member extends object
    ? string extends keyof Member
      ? Member | null
      : Filled<Member>
    : Member | null;

/** Maps that are merged one level deep; any other is replaced whole. */
const MERGED_MAPS: ReadonlySet<string> = new Set(["provider_config", "inputs"]);

/** Merges two blocks field by field, as their table has them. */
export function mergeBlock<Merged>(fields: Fields, narrow: unknown, broad: unknown): Merged {
  const [inner, outer] = [recordIn(narrow), recordIn(broad)];
  const members = Object.entries(fields).map(([name, field]) => {
    const values = [inner[name], outer[name]] as const;
    if (field.kind === "block") return [name, mergeBlock<unknown>(field.fields, ...values)];
    return [name, MERGED_MAPS.has(name) ? mergeMaps(...values) : pick<unknown>(...values)];
  });
  return Object.fromEntries(members) as Merged;
}

/** The narrower value where there is one; null stands for "not said". */
export function pick<T>(narrow: T | null | undefined, broad: T | null | undefined): T | null {
  return narrow ?? broad ?? null;
}

/** The members of both, the narrower first; null where there are none. */
export function mergeMaps(narrow: unknown, broad: unknown): JsonRecord | null {
  const merged = { ...recordIn(broad), ...recordIn(narrow) };
  return Object.keys(merged).length > 0 ? merged : null;
}

/** A demand of a broader scope cannot be waived by a narrower one. */
export function pickRequired(
  narrow: boolean | null | undefined,
  broad: boolean | null | undefined,
): boolean | null {
  return broad === true ? true : pick(narrow, broad);
}

/** A broader scope's "deny" cannot be relaxed to "warn". */
export function pickOnError(
  narrow: "deny" | "warn" | null | undefined,
  broad: "deny" | "warn" | null | undefined,
): "deny" | "warn" | null {
  return broad === "deny" ? "deny" : pick(narrow, broad);
}
