/** An endpoint as an export needs it: what the manifest shows of it, whoever tells. AGTP-API §8.9 */

import { isRecord, recordIn, textsIn } from "../base/json-value.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { readProposedSemantic } from "../endpoint/semantic-block.ts";

/** The part of a definition that is public. */
export type ExportedEndpoint = Pick<
  EndpointDefinition,
  | "method"
  | "path"
  | "description"
  | "namespace"
  | "semantic"
  | "inputSchema"
  | "outputSchema"
  | "errors"
  | "requiredScopes"
  | "deprecated"
>;

/** Reads an entry of a manifest's `endpoints`; undefined for what is none. */
export function readManifestEndpoint(entry: unknown): ExportedEndpoint | undefined {
  if (!isRecord(entry)) return undefined;
  const { method, path, description, namespace, deprecated } = entry;
  const { input_schema: inputSchema, output_schema: outputSchema } = entry;
  const block = readProposedSemantic(entry["semantic"]);
  if (typeof method !== "string" || typeof path !== "string" || !("semantic" in block)) {
    return undefined;
  }
  if (!isRecord(inputSchema) || !isRecord(outputSchema)) return undefined;
  const since = recordIn(deprecated)["deprecated_in"];
  return {
    ...{ method, path, semantic: block.semantic, inputSchema, outputSchema },
    description: typeof description === "string" ? description : `${method} ${path}`,
    ...(typeof namespace === "string" ? { namespace } : {}),
    errors: textsIn(entry["errors"]),
    requiredScopes: textsIn(entry["required_scopes"]),
    ...(typeof since === "string" && isRecord(deprecated)
      ? { deprecated: { ...deprecated, deprecated_in: since } }
      : {}),
  };
}
