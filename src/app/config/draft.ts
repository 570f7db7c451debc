/**
 * A refused configuration without everything in it that is malformed: the
 * defaults stand there instead. Nothing is served with it; it is what the other files of a
 * deployment are checked against, so that one pass finds what is wrong with all of them.
 */
import type { ErrorObject } from "ajv/dist/2020.js";
import { unescapeToken } from "../../base/json-pointer.ts";
import { isRecord } from "../../base/json-value.ts";

/** Sections without which nothing can be said of the other files: where they are, in what words. */
const FOUNDATIONS = ["catalog", "endpoints", "recipes", "handlers"] as const;

/** The tree to check the other files against; undefined when too little of it is left. */
export function draftTree(
  tree: Readonly<Record<string, unknown>>,
  errors: readonly ErrorObject[],
  malformed: ReadonlySet<string>,
): Readonly<Record<string, unknown>> | undefined {
  if (FOUNDATIONS.some((section) => malformed.has(section))) return undefined;
  const draft = structuredClone(tree) as Record<string, unknown>;
  for (const { keyword, instancePath } of errors) {
    // Unknown keys are looked at by nobody.
    if (keyword === "additionalProperties") continue;
    const place = parsePointer(instancePath);
    // A missing key is the fault of the item that lacks it; the server's own name is not needed.
    if (keyword === "required" && !/^\d+$/.test(place.at(-1) ?? "")) continue;
    takeOut(draft, place);
  }
  return withoutGaps(draft) as Record<string, unknown>;
}

function parsePointer(pointer: string): readonly string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map(unescapeToken);
}

/** Leaves a gap, so that the places of the items behind it stay the same. */
function takeOut(draft: unknown, place: readonly string[]): void {
  const last = place.at(-1);
  if (last === undefined) return;
  let owner = draft;
  for (const name of place.slice(0, -1)) {
    if (typeof owner !== "object" || owner === null || !Object.hasOwn(owner, name)) return;
    owner = (owner as Record<string, unknown>)[name];
  }
  if (typeof owner === "object" && owner !== null && Object.hasOwn(owner, last)) {
    (owner as Record<string, unknown>)[last] = undefined;
  }
}

function withoutGaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(withoutGaps);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutGaps(member)]));
}
