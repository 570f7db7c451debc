/**
 * The runtime of prompts: an agent that this daemon serves at a path of its own. A prompt is sent
 * to it as the caller's own request, with the caller's identity and no more authority.
 */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Call } from "../../../handlers/handler.ts";

/** The agent behind `prompt_runtime`. */
export interface PromptRuntime {
  readonly path: string;
  /** As it is served now. */
  endpoint(): EndpointDefinition | undefined;
}

/** The outcome of sending a prompt. */
type PromptAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  | { readonly kind: "no-runtime"; readonly message: string };

/** Names of the one text that an agent takes, where it takes more than one. */
const PROMPT_NAMES = ["prompt", "message", "query", "task", "text", "input"];

const FORM = /^agntcy:(\/\S+)$/;

/** The path in `agntcy:/path`; undefined for any other text. */
export function readRuntimePath(text: string): string | undefined {
  return FORM.exec(text)?.[1];
}

/** Longer than this no agent lets itself be waited for. */
const MAX_WAIT_SECONDS = 86_400;

/** Sends a prompt, and waits for what comes of it, where the agent lets itself be waited for. */
export async function sendPrompt(
  { path, endpoint }: PromptRuntime,
  prompt: string,
  waitMs: number,
  { dispatch }: Pick<Call, "dispatch">,
): Promise<PromptAnswer> {
  const definition = endpoint();
  if (definition === undefined) {
    return { kind: "no-runtime", message: `EXECUTE ${path} is not served` };
  }
  const input = shapePrompt(definition, prompt);
  if (input === undefined) {
    return { kind: "no-runtime", message: `EXECUTE ${path} has no input that a prompt fits` };
  }
  const wait = canWait(definition)
    ? { wait_seconds: Math.min(waitMs / 1000, MAX_WAIT_SECONDS) }
    : {};
  const { status, body } = await dispatch("EXECUTE", path, { input, ...wait });
  return { kind: "answer", status, body };
}

function canWait({ inputSchema: { properties } }: EndpointDefinition): boolean {
  return isRecord(properties) && Object.hasOwn(properties, "wait_seconds");
}

/** The prompt as the agent's own input schema has it: a text, or an object with one. */
function shapePrompt({ inputSchema }: EndpointDefinition, prompt: string): unknown {
  const schema = isRecord(inputSchema["properties"])
    ? inputSchema["properties"]["input"]
    : undefined;
  if (!isRecord(schema)) return undefined;
  const resolved = resolveReference(schema, inputSchema);
  if (isOfType(resolved, "string")) return prompt;
  const properties = isRecord(resolved["properties"]) ? resolved["properties"] : undefined;
  if (properties === undefined) return resolved["type"] === undefined ? prompt : undefined;
  const texts = Object.keys(properties).filter((name) => isOfType(properties[name], "string"));
  const required = Array.isArray(resolved["required"]) ? resolved["required"] : [];
  const [only, ...others] = texts.filter((name) => required.includes(name));
  const isSingle = only !== undefined && others.length === 0;
  const named = isSingle ? only : PROMPT_NAMES.find((name) => texts.includes(name));
  const isComplete = required.every((name) => name === named);
  return named === undefined || !isComplete ? undefined : { [named]: prompt };
}

function resolveReference(schema: JsonRecord, root: JsonRecord): JsonRecord {
  const [, name] = /^#\/\$defs\/([^/]+)$/.exec(String(schema["$ref"] ?? "")) ?? [];
  const definitions = root["$defs"];
  if (name === undefined || !isRecord(definitions) || !Object.hasOwn(definitions, name)) {
    return schema;
  }
  const found = definitions[name];
  return isRecord(found) ? found : schema;
}

function isOfType(schema: unknown, type: string): boolean {
  return isRecord(schema) && schema["type"] === type;
}
