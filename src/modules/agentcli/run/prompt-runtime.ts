/**
 * The prompt runtime: an agent that this daemon serves at its own path. A prompt is sent as the caller's own request,
 * with the caller's identity and no more authority.
 */

import { isRecord, recordIn, valueAt } from "../../../base/json-value.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Call } from "../../../handlers/handler.ts";
import { applyEvidenceProfile } from "../compile/merge.ts";
import {
  type Executor,
  failRun,
  type PromptRuntime,
  type Run,
  type RunRefusal,
  type RunReport,
  refuseRun,
} from "./execution.ts";
import type { GovernedRun } from "./govern.ts";

/** The endpoint and input of a prompt, or the fault. */
type Addressed =
  | { readonly definition: EndpointDefinition; readonly input: unknown }
  | { readonly fault: string };

type PromptAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  | { readonly kind: "no-runtime"; readonly message: string };

/** Preferred names of the text member if an agent's input has several. */
const PROMPT_NAMES = ["prompt", "message", "query", "task", "text", "input"];

const FORM = /^agntcy:(\/\S+)$/;

/** The path in `agntcy:/path`; undefined for other texts. */
export function readRuntimePath(text: string): string | undefined {
  return FORM.exec(text)?.[1];
}

/** The maximum wait that agents accept. */
const MAX_WAIT_SECONDS = 86_400;

const NO_EVIDENCE = "of a prompt there is no evidence";

/** Sends the prompt of a permitted task to the configured agent, and passes its answer on. */
export async function executePrompt(
  { found: { plan, manifest }, call, executionId }: Run,
  prompt: string,
  { identity, warnings: governed }: GovernedRun,
  { runtime, usualTimeoutMs }: Executor,
): Promise<RunReport | RunRefusal> {
  if (runtime === undefined) {
    return refuseRun("no_runtime", "no prompt_runtime is configured, so nobody answers prompts");
  }
  const evidence = plan.evidence && applyEvidenceProfile(manifest, plan.evidence);
  if (evidence?.verify.required === true) return refuseRun("evidence_failed", NO_EVIDENCE);
  const warnings = [
    ...governed,
    ...(evidence === null || evidence.provider === "none" ? [] : [NO_EVIDENCE]),
    ...(plan.verify === null ? [] : ["the answer to a prompt is not verified"]),
  ];
  const waitMs = Math.min(plan.runtime.timeout_ms ?? usualTimeoutMs, usualTimeoutMs);
  const answer = await sendPrompt(runtime, prompt, waitMs, call);
  if (answer.kind === "no-runtime") return refuseRun("no_runtime", answer.message);
  const { status, body } = answer;
  if (status !== 200 && status !== 202) {
    const message = `EXECUTE ${runtime.path} answered ${status}`;
    const details = { status, body };
    return failRun("runtime_failed", message, { text: JSON.stringify(body) ?? "", details });
  }
  const isOk = status === 200;
  return {
    kind: "report",
    status,
    body: {
      ok: isOk,
      execution_id: executionId,
      source: plan.source,
      declared_identity: identity.declared,
      resolved_identity: identity.described,
      principal_used: identity.principal,
      runtime: { path: runtime.path, status, body },
      warnings,
    },
    ...(isOk ? { output: { isOk, text: JSON.stringify(body) ?? "" } } : {}),
  };
}

/** Sends a prompt, and waits for the result if the agent supports waiting. */
export async function sendPrompt(
  runtime: PromptRuntime,
  prompt: string,
  waitMs: number,
  { dispatch }: Pick<Call, "dispatch">,
): Promise<PromptAnswer> {
  const { path } = runtime;
  const addressed = addressPrompt(runtime, prompt);
  if ("fault" in addressed) return { kind: "no-runtime", message: addressed.fault };
  const { definition, input } = addressed;
  const wait = canWait(definition)
    ? { wait_seconds: Math.min(waitMs / 1000, MAX_WAIT_SECONDS) }
    : {};
  const { status, body } = await dispatch("EXECUTE", path, { input, ...wait });
  return { kind: "answer", status, body };
}

/** The reason that no prompt can be sent, or undefined. */
export function findRuntimeFault(runtime: PromptRuntime): string | undefined {
  const addressed = addressPrompt(runtime, "");
  return "fault" in addressed ? addressed.fault : undefined;
}

function addressPrompt({ path, endpoint }: PromptRuntime, prompt: string): Addressed {
  const definition = endpoint();
  if (definition === undefined) return { fault: `EXECUTE ${path} is not served` };
  const input = shapePrompt(definition, prompt);
  if (input === undefined) return { fault: `EXECUTE ${path} has no input that a prompt fits` };
  return { definition, input };
}

function canWait({ inputSchema }: EndpointDefinition): boolean {
  return valueAt(inputSchema, ["properties", "wait_seconds"]) !== undefined;
}

/** Fits the prompt to the agent's input schema: a text, or an object with one. */
function shapePrompt({ inputSchema }: EndpointDefinition, prompt: string): unknown {
  const schema = valueAt(inputSchema, ["properties", "input"]);
  if (!isRecord(schema)) return undefined;
  const [, name] = /^#\/\$defs\/([^/]+)$/.exec(String(schema["$ref"] ?? "")) ?? [];
  const definition = name && valueAt(inputSchema, ["$defs", name]);
  const resolved = isRecord(definition) ? definition : schema;
  if (isText(resolved)) return prompt;
  const { properties } = resolved;
  if (!isRecord(properties)) return resolved["type"] === undefined ? prompt : undefined;
  const texts = Object.keys(properties).filter((key) => isText(properties[key]));
  const required = Array.isArray(resolved["required"]) ? resolved["required"] : [];
  const [only, ...others] = texts.filter((key) => required.includes(key));
  const isSingle = only !== undefined && others.length === 0;
  const named = isSingle ? only : PROMPT_NAMES.find((key) => texts.includes(key));
  const isComplete = required.every((key) => key === named);
  return named === undefined || !isComplete ? undefined : { [named]: prompt };
}

function isText(schema: unknown): boolean {
  return recordIn(schema)["type"] === "string";
}
