/** A contract's endpoint in the form that registered ones have.   AGTP-API §6.2, §10.7 */

import type { ContractEndpoint } from "./contract.ts";
import type { EndpointDefinition } from "./endpoint.ts";

/** The definition of what was agreed upon; it is in no file. */
export function contractDefinition(endpoint: ContractEndpoint): EndpointDefinition {
  return {
    file: "",
    method: endpoint.method,
    path: endpoint.path,
    description: endpoint.description,
    semantic: endpoint.semantic,
    inputSchema: endpoint.input_schema,
    outputSchema: endpoint.output_schema,
    errors: endpoint.errors,
    requiredScopes: endpoint.required_scopes,
    handler: { type: "composition", recipe: "" },
  };
}
