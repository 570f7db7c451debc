/**
 * A manifest's view of an endpoint's handler: the kind of its binding and nothing else,
 * and the errors that each kind brings with it.   AGTP-API §6.4, §8.9, §12.1, §12.3
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { UPSTREAM_ERRORS } from "../../endpoint/endpoint.ts";

const KINDS = ["registered_function", "composition", "external_service"] as const;

/** Checks `handler`, and `errors` by it. */
export function checkBinding(endpoint: DocumentPlace): void {
  const handler = endpoint.at("handler").under("8.9");
  const value = handler.record()?.members;
  if (value === undefined) return;
  for (const name of Object.keys(value).filter((one) => one !== "type")) {
    handler.at(name).fail("is internal to the server and must not be published");
  }
  const errors = endpoint.at("errors");
  switch (handler.at("type").under("6.4").word(KINDS)) {
    case "composition":
      checkDeclared(errors.under("12.1"), ["composition_failed"]);
      break;
    case "external_service":
      checkDeclared(errors.under("12.3"), UPSTREAM_ERRORS);
      break;
    case "registered_function":
    case undefined:
      break;
  }
}

function checkDeclared(errors: DocumentPlace, required: readonly string[]): void {
  const { value } = errors;
  if (!Array.isArray(value)) return;
  const missing = required.filter((name) => !value.includes(name));
  if (missing.length > 0) errors.fail(`lacks ${missing.join(", ")}`);
}
