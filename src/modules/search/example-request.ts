/**
 * An example request for an endpoint, made from its input schema. It is shown only if it is valid by that schema,
 * follows the path grammar and is routed to the endpoint.
 * AGTP-API §5.3, §6.4 "input_schema"
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { checkPath } from "../../catalog/path-grammar.ts";
import { canonicalPair } from "../../dispatch/policy/method-policy.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { mergeInput } from "../../endpoint/input.ts";
import { inputShape } from "../../endpoint/input-shape.ts";
import { compileTemplate } from "../../endpoint/path-template.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { type MeteredCheck, prepareMeteredCheck } from "../../schema/metered-schema.ts";
import { type SampleExtent, schemaSample } from "../../schema/schema-sample.ts";
import type { SearchContext } from "./config.ts";

/** A request that a caller could send. */
export interface ExampleRequest {
  readonly method: string;
  /** The template with its parameters filled in. */
  readonly path: string;
  readonly body: JsonRecord;
}

/** The registry that tells which endpoint a request is routed to. */
export interface ServedPairs {
  readonly context: SearchContext;
  readonly registry: EndpointRegistry<EndpointDefinition>;
}

/** Builds an example with the required members, or else with all; undefined if neither is valid. */
export function exampleRequest(
  { context, registry }: ServedPairs,
  definition: EndpointDefinition,
): ExampleRequest | undefined {
  const { method, inputSchema } = definition;
  const check = prepareCheck(inputSchema);
  if (check === undefined) return undefined;
  for (const extent of ["required", "all"] as const) {
    const example = fillIn(definition, extent);
    if (example === undefined || checkPath(example.path, context.names) !== undefined) continue;
    const pair = canonicalPair(context.methodPolicy, { method, path: example.path });
    if (registry.find(pair.method, pair.path)?.entry !== definition) continue;
    const input = mergeInput(inputShape(inputSchema), example.body, undefined, example.values);
    if (check(input) !== undefined) continue;
    return { method, path: example.path, body: example.body };
  }
  return undefined;
}

/**
 * Prepares a metered check, since generating a validator for one value takes a hundred times as long. Undefined if a
 * pattern is too large.
 */
function prepareCheck(schema: JsonSchema): MeteredCheck | undefined {
  try {
    return prepareMeteredCheck(schema);
  } catch {
    return undefined;
  }
}

interface FilledIn {
  readonly path: string;
  readonly body: JsonRecord;
  readonly values: Readonly<Record<string, string>>;
}

/** Builds a sample path and body; path parameters are in the path only. */
function fillIn(
  { path, inputSchema }: EndpointDefinition,
  extent: SampleExtent,
): FilledIn | undefined {
  const { segments = [], parameters = [] } = compileTemplate(path) ?? {};
  const names = parameters.map(({ name }) => name);
  const input = schemaSample(withRequired(inputSchema, names), { extent });
  if (!isRecord(input)) return undefined;
  const filled = [...segments];
  const values = new Map<string, string>();
  for (const { name, index } of parameters) {
    const value = input[name];
    if (typeof value === "object" || value === undefined || value === "") return undefined;
    values.set(name, String(value));
    filled[index] = encodeURIComponent(String(value));
  }
  const body = Object.entries(input).filter(([name]) => !names.includes(name));
  return {
    path: parameters.length === 0 ? path : `/${filled.join("/")}`,
    body: Object.fromEntries(body),
    values: Object.fromEntries(values),
  };
}

function withRequired(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return { ...schema, required: [...required, ...names] };
}
