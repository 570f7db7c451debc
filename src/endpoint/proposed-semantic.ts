/** The semantic block of a proposal: all seven fields, each valid.   AGTP-API §7.1, §10.6 step 3 */
import { hasLoneSurrogate, isFraction, isRecord } from "../base/json-value.ts";
import { CAPABILITIES, IMPACTS, type SemanticBlock } from "./endpoint.ts";

const MAX_TEXT = 1_024;

/** The block, or every field that keeps it from being one. */
export function readProposedSemantic(
  value: unknown,
): { readonly semantic: SemanticBlock } | { readonly faults: readonly string[] } {
  if (!isRecord(value)) return { faults: ["semantic must be an object"] };
  const rules: readonly (readonly [keyof SemanticBlock, boolean, string])[] = [
    ["intent", isProposedText(value["intent"]), "a text"],
    ["actor", isProposedText(value["actor"]), "a text"],
    ["outcome", isProposedText(value["outcome"]), "a text"],
    ["capability", isOneOf(CAPABILITIES, value["capability"]), `one of ${CAPABILITIES.join(", ")}`],
    ["confidence", isFraction(value["confidence"]), "a number from 0 to 1"],
    ["impact", isOneOf(IMPACTS, value["impact"]), `one of ${IMPACTS.join(", ")}`],
    ["is_idempotent", typeof value["is_idempotent"] === "boolean", "true or false"],
  ];
  const faults = rules
    .filter(([, isValid]) => !isValid)
    .map(([key, , expected]) => `semantic.${key} must be ${expected}`);
  if (faults.length > 0) return { faults };
  const members = rules.map(([key]) => [key, value[key]]);
  return { semantic: Object.fromEntries(members) as SemanticBlock };
}

/** A text to be hashed and shown: not empty, of bounded length, and without half characters. */
export function isProposedText(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    value.length <= MAX_TEXT &&
    !hasLoneSurrogate(value)
  );
}

function isOneOf(words: readonly string[], value: unknown): boolean {
  return typeof value === "string" && words.includes(value);
}
