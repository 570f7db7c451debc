/**
 * Parts that several endpoints have in common are kept once. Ten thousand endpoints mostly repeat one
 * another's schemas, scopes and errors; what they share takes less memory, and less time to look at.
 */
import { SpreadMap } from "../base/spread-map.ts";
import type { EndpointDefinition } from "./endpoint.ts";

/** Answers with the first part that had the same JSON. */
export type SharePart = <T extends object>(part: T) => T;

/** Creates a pool without parts; it keeps those that it answered with. */
export function createPartPool(): SharePart {
  const known = new SpreadMap<object>();
  return <T extends object>(part: T): T => {
    const text = JSON.stringify(part);
    const shared = known.get(text) ?? part;
    known.set(text, shared);
    return shared as T;
  };
}

/** The same definition, of shared parts. */
export function shareParts(definition: EndpointDefinition, share: SharePart): EndpointDefinition {
  const { semantic, inputSchema, outputSchema, errors, requiredScopes, handler } = definition;
  return {
    ...definition,
    semantic: share(semantic),
    inputSchema: share(inputSchema),
    outputSchema: share(outputSchema),
    errors: share(errors),
    requiredScopes: share(requiredScopes),
    handler: share(handler),
  };
}
