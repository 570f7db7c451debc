/** Reads a semantic block: all seven fields, each valid.   AGTP-API §7.1 */

import type { TableReader } from "../base/table-reader.ts";
import { CAPABILITIES, IMPACTS, type SemanticBlock } from "./endpoint.ts";

/** The keys of a semantic block, all of them required. */
export const SEMANTIC_KEYS: readonly (keyof SemanticBlock)[] = [
  "intent",
  "actor",
  "outcome",
  "capability",
  "confidence",
  "impact",
  "is_idempotent",
];

/** The block, or nothing and a problem for each field that is missing or invalid. */
export function readSemanticBlock(table: TableReader): SemanticBlock | undefined {
  const intent = table.text("intent");
  const actor = table.text("actor");
  const outcome = table.text("outcome");
  const capability = table.word("capability", CAPABILITIES);
  const confidence = table.number("confidence", 0, 1);
  const impact = table.word("impact", IMPACTS);
  const isIdempotent = table.flag("is_idempotent");
  if (intent === undefined || actor === undefined || outcome === undefined) return undefined;
  if (capability === undefined || confidence === undefined || impact === undefined)
    return undefined;
  if (isIdempotent === undefined) return undefined;
  return { intent, actor, outcome, capability, confidence, impact, is_idempotent: isIdempotent };
}
