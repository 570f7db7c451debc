/** Reads a semantic block: all seven fields, each valid.   AGTP-API §7.1 */

import type { DocumentPlace } from "../base/document-place.ts";
import { CAPABILITIES, IMPACTS, type SemanticBlock } from "./endpoint.ts";

/** The block, or nothing and a problem for each field that is missing or invalid. */
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
