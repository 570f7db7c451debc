/** The semantic block: all seven fields, each within its bounds.   AGTP-API §7.1 */

import { describeValue } from "../../base/json-value.ts";
import { CAPABILITIES, IMPACTS } from "../../endpoint/endpoint.ts";
import { SEMANTIC_KEYS } from "../../endpoint/semantic-block.ts";
import type { Place } from "./place.ts";

/** Checks a block. */
export function checkSemantic(block: Place): void {
  if (block.record() === undefined) return;
  block.warnOfOthers(SEMANTIC_KEYS);
  for (const name of ["intent", "actor", "outcome"]) block.at(name).text();
  block.at("capability").word(CAPABILITIES);
  block.at("impact").word(IMPACTS);
  block.at("is_idempotent").flag();
  const confidence = block.at("confidence");
  const { value } = confidence;
  if (typeof value === "number" && value >= 0 && value <= 1) return;
  confidence.fault(`${describeValue(value)}, expected a number from 0 to 1`);
}
