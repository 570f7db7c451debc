/** The digest that proofs and approvals are bound to: SHA-256 over a value with its keys in order. */

import type { JsonRecord } from "../../base/json-value.ts";
import { canonicalForm, sha256Hex } from "../../identity/canonical-form.ts";

/** `sha256:<64 hex>` of an object of parsed JSON. */
export function canonicalDigest(value: JsonRecord): string {
  return `sha256:${sha256Hex(canonicalForm(value))}`;
}
