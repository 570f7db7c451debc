/**
 * Endpoints of the server under test that may be tried: those that, by their own word, only read, and
 * for which a valid input can be made up, and no operator is asked. Decides how such a request looks; whether it changes
 * nothing after all is the server's word.   AGTP-API §6.2, §7.1
 */

import { isRecord, type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import { fillTemplate } from "../../base/template.ts";
import { isMethodName } from "../../catalog/catalog.ts";
import { templateParameters } from "../../catalog/path-grammar.ts";
import { covers } from "../../identity/authority-scope.ts";
import { schemaSample } from "../../schema/schema-sample.ts";
import { judgeOf, type ValueJudge } from "./schema-kinds.ts";
import { asText } from "./text-pattern.ts";

/** A request that the server should understand, and the endpoint it is for. */
export interface Trial {
  readonly method: string;
  /** The path as registered. */
  readonly template: string;
  /** With values for its parameters. */
  readonly target: string;
  /** The members of the body. */
  readonly input: JsonRecord;
  /** The values in the path. */
  readonly inPath: JsonRecord;
  readonly endpoint: JsonRecord;
  readonly requiredScopes: readonly string[];
  readonly judge: ValueJudge;
}

const PATH = /^\/[\x21-\x7e]{0,2000}$/;

/** A request for an endpoint of the manifest; undefined: it is not to be tried. */
export function trialOf(endpoint: unknown, tierOf: (pair: string) => unknown): Trial | undefined {
  if (!isRecord(endpoint)) return undefined;
  const { method, path, semantic, input_schema: schema } = endpoint;
  if (typeof method !== "string" || !isMethodName(method)) return undefined;
  if (typeof path !== "string" || !PATH.test(path)) return undefined;
  if (!isReading(semantic) || tierOf(`${method} ${path}`) === "A" || method === "DISCOVER") {
    return undefined;
  }
  if (endpoint["approval"] !== undefined) return undefined;
  const judge = judgeOf(schema);
  const input = isRecord(schema) ? sampleInput(schema, path) : undefined;
  if (judge === undefined || input === undefined || judge(input) !== undefined) return undefined;
  const inPath = new Set(templateParameters(path));
  const entries = Object.entries(input);
  return {
    method,
    template: path,
    target: fillPath(path, input),
    input: Object.fromEntries(entries.filter(([name]) => !inPath.has(name))),
    inPath: Object.fromEntries(entries.filter(([name]) => inPath.has(name))),
    endpoint,
    requiredScopes: textsIn(endpoint["required_scopes"]),
    judge,
  };
}

function isReading(semantic: unknown): boolean {
  return isRecord(semantic) && semantic["impact"] === "informational";
}

/** Required members, and those that the path needs. */
function sampleInput(schema: JsonRecord, path: string): JsonRecord | undefined {
  const { required } = schema;
  const names = [...(Array.isArray(required) ? required : []), ...templateParameters(path)];
  const sample = schemaSample({ ...schema, required: [...new Set(names)] });
  return isRecord(sample) ? sample : undefined;
}

/** The name of an endpoint; its members are whatever a server sent. */
export function pairOf({ method, path }: JsonRecord): string {
  return `${asText(method ?? null)} ${asText(path ?? null)}`;
}

/** A path with its parameters' values. */
export function fillPath(template: string, input: JsonRecord): string {
  return fillTemplate(template, (name) =>
    Object.hasOwn(input, name) ? encodeText(asText(input[name])) : undefined,
  );
}

/** As a part of a path or query; half a character becomes a replacement. */
export function encodeText(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

/** Tells whether an agent that holds these scopes may call it; undefined: nobody said what it holds. */
export function mayCall(trial: Trial, held: readonly string[] | undefined): boolean {
  return trial.requiredScopes.every((scope) => held !== undefined && covers(held, scope));
}

/** The properties that a body or a query of it may carry, with their schemas. */
export function bodyProperties({
  endpoint,
  inPath,
}: Trial): readonly (readonly [string, unknown])[] {
  const { input_schema: schema } = endpoint;
  const properties = recordIn(schema)["properties"];
  if (!isRecord(properties)) return [];
  return Object.entries(properties).filter(([name]) => !Object.hasOwn(inPath, name));
}
