/** Loads the runtime of OpenWOP agents, by `[openwop.runtime]`. */
import { relative } from "node:path";
import type { Problem } from "../../../base/problem.ts";
import { traceOf } from "../../../base/thrown.ts";
import { readCertificates } from "../../../endpoint/upstream-ca.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { ModuleLoader } from "../../../handlers/module-loader.ts";
import type { OpenwopSections } from "../config.ts";
import type { ManifestClass } from "../installed-agent.ts";
import type { Redactor } from "../redaction.ts";
import type { OpenwopSettings, RuntimeSettings } from "../settings.ts";
import type { AgentRuntime } from "./agent-runtime.ts";
import { loadSdk } from "./chat-model.ts";
import { createChatRuntime, modelOf } from "./chat-runtime.ts";
import { createDeterministicRuntime } from "./deterministic.ts";
import { createFunctionRuntime, type TurnFunction } from "./function-runtime.ts";
import { createModelConnection } from "./model-connection.ts";
import { createProcessTurn } from "./process-turn.ts";

/** The parts that a runtime is made from. */
export interface RuntimeParts {
  readonly config: Pick<OpenwopSections, "directory" | "file">;
  readonly loader: ModuleLoader;
  readonly redactor: Redactor;
  readonly log: Pick<CallLog, "info" | "warn" | "error">;
}

/** The runtime, and what is wrong with it; one that cannot be had fails every turn. */
export async function loadAgentRuntime(
  settings: OpenwopSettings,
  parts: RuntimeParts,
): Promise<{ readonly runtime: AgentRuntime; readonly problems: readonly Problem[] }> {
  const { runtime, reasoning, isConformance, maxToolCalls } = settings;
  switch (runtime.kind) {
    case "deterministic":
      return { runtime: createDeterministicRuntime({ isConformance }), problems: [] };
    case "openai-compatible": {
      const { baseUrl, apiKey, models, retries, requestTimeoutMs: timeoutMs } = runtime;
      const { ca, problems } = readCa(runtime.ca, parts.config);
      const server = createModelConnection({ baseUrl, apiKey, ca, timeoutMs });
      server.prepare?.();
      loadSdk.prepare();
      const { isStreaming } = reasoning;
      // One answer more than calls, and one for words beside them.
      const maxRounds = maxToolCalls + 1;
      const options = { server, models, retries, isStreaming, maxRounds };
      return { runtime: createChatRuntime(options), problems };
    }
    case "function":
      return loadFunction(runtime.function, parts);
  }
}

/** PEM text; undefined: the system's authorities are trusted. */
function readCa(
  path: string | undefined,
  { directory, file }: RuntimeParts["config"],
): { readonly ca: string | undefined; readonly problems: readonly Problem[] } {
  if (path === undefined) return { ca: undefined, problems: [] };
  const { text, fault } = readCertificates(directory, path);
  if (text !== undefined) return { ca: text, problems: [] };
  const place = { file: relative(directory, file), key: "openwop.runtime.ca" };
  return { ca: undefined, problems: [{ ...place, message: fault }] };
}

async function loadFunction(
  reference: string,
  { config: { directory, file }, loader, redactor, log }: RuntimeParts,
): Promise<{ readonly runtime: AgentRuntime; readonly problems: readonly Problem[] }> {
  const place = { file: relative(directory, file), key: "openwop.runtime.function" };
  const { handler, call, problems } = await loader.load(reference, place);
  // A module exports functions of anything; this one is given a turn.
  const exported = handler as TurnFunction | undefined;
  const take = call === undefined ? exported : createProcessTurn(call, log);
  const runtime = createFunctionRuntime({
    take: take ?? (() => Promise.reject(new Error(`"${reference}" was not loaded`))),
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
  runtime: RuntimeSettings,
): (modelClass: ManifestClass) => string | undefined {
  if (runtime.kind !== "openai-compatible") return () => undefined;
  return (modelClass) =>
    modelOf(runtime.models, modelClass) === undefined
      ? `openwop.runtime.models has neither "${modelClass}" nor "default"`
      : undefined;
}
