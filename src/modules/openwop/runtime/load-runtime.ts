/**
 * Loads the runtime of OpenWOP agents, by `[openwop.runtime]`: a model, a function, a process, or
 * one that answers the same task always alike.   docs/openwop.md
 */
import { relative } from "node:path";
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import type { Redactor } from "../../../base/redaction.ts";
import { traceOf } from "../../../base/thrown.ts";
import { withoutEndSlashes } from "../../../base/url-text.ts";
import { readConfiguredCa } from "../../../endpoint/upstream-ca.ts";
import { type CallLog, isHandlerError } from "../../../handlers/handler.ts";
import type { ModuleLoader } from "../../../handlers/module-loader.ts";
import type { CallProcess } from "../../../handlers/processes/process-call.ts";
import { PLAIN_STYLE, schemaSample } from "../../../schema/schema-sample.ts";
import type { OpenwopConfig, OpenwopSections } from "../config.ts";
import type { ManifestClass } from "../installed-agent.ts";
import type { AgentRuntime } from "./agent-runtime.ts";
import { loadSdk } from "./chat-model.ts";
import { createChatRuntime, modelOf } from "./chat-runtime.ts";
import { createFunctionRuntime, type TurnFunction } from "./function-runtime.ts";
import { createModelConnection } from "./model-server.ts";

interface RuntimeParts {
  readonly config: Pick<OpenwopSections, "directory" | "file">;
  readonly loader: ModuleLoader;
  readonly redactor: Redactor;
  readonly log: Pick<CallLog, "info" | "warn" | "error">;
}

/** The runtime, and what is wrong with it; one that cannot be had fails every turn. */
export async function loadAgentRuntime(
  { runtime, reasoning, conformance: isConformance }: OpenwopConfig,
  parts: RuntimeParts,
): Promise<{ readonly runtime: AgentRuntime; readonly problems: readonly Problem[] }> {
  switch (runtime.kind) {
    case "deterministic":
      return { runtime: createDeterministicRuntime(isConformance), problems: [] };
    case "openai-compatible": {
      const { apiKey, retries, requestTimeoutSeconds } = runtime;
      const baseUrl = withoutEndSlashes(runtime.baseUrl ?? "");
      const timeoutMs = requestTimeoutSeconds * 1000;
      const { ca, problems } = readConfiguredCa(runtime.ca, "openwop.runtime.ca", parts.config);
      const server = createModelConnection({ baseUrl, apiKey, ca, timeoutMs });
      server.prepare();
      loadSdk.prepare();
      // One answer more than calls, and one for words beside them.
      const maxRounds = runtime.maxToolCalls + 1;
      const models = modelsOf(runtime);
      const options = { server, models, retries, isStreaming: reasoning.streaming, maxRounds };
      return { runtime: createChatRuntime(options), problems };
    }
    case "function":
      return loadFunction(runtime.function ?? "", parts);
  }
}

async function loadFunction(
  reference: string,
  { config: { directory, file }, loader, redactor, log }: RuntimeParts,
): Promise<{ readonly runtime: AgentRuntime; readonly problems: readonly Problem[] }> {
  const place = { file: relative(directory, file), key: "openwop.runtime.function" };
  const { handler, call, problems } = await loader.load(reference, place);
  // A module exports functions of anything; this one is given a turn.
  const exported = handler as ((turn: unknown) => unknown) | undefined;
  const absent = () => Promise.reject(new Error(`"${reference}" was not loaded`));
  const runtime = createFunctionRuntime({
    take: call ? createProcessTurn(call, log) : (turn) => (exported ?? absent)(turn),
    onFault: (error, agentId) => {
      // It may quote what the function was given.
      const trace = redactor.text(traceOf(error));
      log.warn({ event: "agent-turn-failed", agent_id: agentId, trace }, "an agent's turn threw");
    },
  });
  return { runtime, problems };
}

/** Why no model takes turns of a class, in words; undefined: one does. */
export function modelFaultOf(
  runtime: OpenwopConfig["runtime"],
): (modelClass: ManifestClass) => string | undefined {
  if (runtime.kind !== "openai-compatible") return () => undefined;
  const models = modelsOf(runtime);
  return (modelClass) =>
    modelOf(models, modelClass) === undefined
      ? `openwop.runtime.models has neither "${modelClass}" nor "default"`
      : undefined;
}

/** Names of models by class; `default` for every class that has none. */
function modelsOf({ models }: OpenwopConfig["runtime"]): ReadonlyMap<string, string> {
  return new Map(Object.entries(models));
}

/** The task of the public suite that asks for it; the result is then a text, and no object. */
const RETURN_VIOLATION = "mock-return-violation";

/**
 * A runtime without a model: the same task comes to the same result, a value of the return schema. In
 * conformance, tasks of the public suite may ask for a result that breaks the schema.
 */
export function createDeterministicRuntime(isConformance: boolean): AgentRuntime {
  return {
    takeTurn: ({ agent: { agentId, persona }, task, returnSchema }) => {
      const isProbe = isConformance && isRecord(task) && task["scenario"] === RETURN_VIOLATION;
      const sample = returnSchema && schemaSample(returnSchema.schema, { style: PLAIN_STYLE });
      const result = returnSchema === undefined ? { agentId, task } : (sample ?? null);
      return Promise.resolve({
        kind: "answered",
        reasoning: `${persona} takes the task without a model and answers in the form it is to have.`,
        decision: { action: "complete" },
        confidence: 1,
        result: isProbe ? RETURN_VIOLATION : result,
      });
    },
    close: () => Promise.resolve(),
  };
}

/** The part of a turn that is called, and not told. */
interface TurnMeans {
  readonly signal: AbortSignal;
  readonly agent: { readonly agentId: string; readonly persona: string };
  callTool(toolId: string, input: unknown): Promise<JsonRecord>;
}

/** Takes turns by a process: it is given what a function is, as JSON; its dispatches are tool calls. */
export function createProcessTurn(
  call: CallProcess,
  log: Pick<CallLog, "info" | "warn" | "error">,
): TurnFunction {
  return async (turn, request) => {
    const { signal, agent, callTool } = turn as TurnMeans;
    const result = await call({
      params: {
        input: toldOf(turn),
        agent: { agent_id: agent.agentId, name: agent.persona, scopes: [], trust_tier: null },
        ...{ principal: null, method: "EXECUTE", path: "/", request_id: null },
      },
      ...{ endsAt: undefined, request, signal, log },
      dispatch: async (method, path, input) => {
        const { outcome, error } = await callTool(`agtp:${method} ${path}`, input);
        return error === undefined
          ? { status: 200, body: outcome }
          : { status: 422, body: { error } };
      },
    });
    if (isHandlerError(result)) throw new Error(`the function answered with "${result.error}"`);
    return result.body;
  };
}

/** The parts of it that are JSON. */
function toldOf(turn: unknown): JsonRecord {
  const { signal: _, callTool: __, reason: ___, ...told } = recordIn(turn);
  return told;
}
