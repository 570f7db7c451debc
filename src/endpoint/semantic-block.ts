/** Reads semantic blocks: an endpoint's, with all seven fields, and a proposal's.   AGTP-API §7.1 */
import type { DocumentPlace } from "../base/document-place.ts";
import { hasLoneSurrogate, isFraction, isRecord } from "../base/json-value.ts";
import { CAPABILITIES, IMPACTS, type SemanticBlock } from "./endpoint.ts";

/** Reads the block; undefined with a problem for each missing or invalid field. */
export function readSemanticBlock(table: DocumentPlace): SemanticBlock | undefined {
  const intent = table.at("intent").text();
  const actor = table.at("actor").text();
  const outcome = table.at("outcome").text();
  const capability = table.at("capability").word(CAPABILITIES);
  const confidence = table.at("confidence").number(0, 1);
  const impact = table.at("impact").word(IMPACTS);
  const isIdempotent = table.at("is_idempotent").flag();
  if (intent === undefined || actor === undefined || outcome === undefined) return undefined;
  if (capability === undefined || confidence === undefined || impact === undefined)
    return undefined;
  if (isIdempotent === undefined) return undefined;
  return { intent, actor, outcome, capability, confidence, impact, is_idempotent: isIdempotent };
}

/**
 * Builds a block for an endpoint without one; the capability is the first category of its method
 * that is a capability.
 */
export function semanticOf(intent: string, categories: readonly string[] = []): SemanticBlock {
  const [capability = "domain_spanning"] = categories.flatMap((category) =>
    CAPABILITIES.filter((one) => one === category),
  );
  return {
    intent,
    actor: "agent",
    outcome: intent,
    capability,
    confidence: 0.5,
    impact: "reversible",
    is_idempotent: false,
  };
}

const MAX_TEXT = 1_024;

/** Reads a proposed block; returns the invalid fields if there are any.   AGTP-API §10.6 step 3 */
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

/** Tells whether a proposed text may be hashed and shown: not empty, bounded, without lone surrogates. */
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
