/**
 * Loads the runtime that `[openwop.runtime]` configures: a model, a function, a process, or the deterministic one.
 * docs/openwop.md
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

/** Returns the runtime and its problems; a runtime that could not be loaded fails every turn. */
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
      // One round more than calls: a model may call a tool too often and still answer.
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
  // The module's export is not typed; here it takes a turn.
  const exported = handler as ((turn: unknown) => unknown) | undefined;
  const absent = () => Promise.reject(new Error(`"${reference}" was not loaded`));
  const runtime = createFunctionRuntime({
    take: call ? createProcessTurn(call, log) : (turn) => (exported ?? absent)(turn),
    onFault: (error, agentId) => {
      // The trace may quote the function's input.
      const trace = redactor.text(traceOf(error));
      log.warn({ event: "agent-turn-failed", agent_id: agentId, trace }, "an agent's turn threw");
    },
  });
  return { runtime, problems };
}

/** Returns a check that states why no model serves a class; undefined if one does. */
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

/** Model names by class; `default` for every other class. */
function modelsOf({ models }: OpenwopConfig["runtime"]): ReadonlyMap<string, string> {
  return new Map(Object.entries(models));
}

/** The suite's task that asks for an invalid result; it is then a text instead of an object. */
const RETURN_VIOLATION = "mock-return-violation";

/**
 * A runtime without a model: a task always has the same result, a sample of the return schema. Under `conformance`, the
 * public suite may ask for an invalid result.
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

/** The members of a turn that a process cannot be sent. */
interface TurnMeans {
  readonly signal: AbortSignal;
  readonly agent: { readonly agentId: string; readonly persona: string };
  callTool(toolId: string, input: unknown): Promise<JsonRecord>;
}

/** Takes turns with a process: sends it the turn as JSON and maps its dispatches to tool calls. */
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

/** The JSON members of a turn. */
function toldOf(turn: unknown): JsonRecord {
  const { signal: _, callTool: __, reason: ___, ...told } = recordIn(turn);
  return told;
}
