/**
 * A turn that a function of a process takes: what a function of a module is given, as JSON. Its
 * dispatches are calls of the turn's tools.   docs/openwop.md
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { isHandlerError } from "../../../handlers/handler.ts";
import type { CallProcess } from "../../../handlers/processes/process-function.ts";
import type { TurnFunction } from "./function-runtime.ts";

/** The part of a turn that is called, and not told. */
interface TurnMeans {
  readonly signal: AbortSignal;
  readonly agent: { readonly agentId: string; readonly persona: string };
  callTool(toolId: string, input: unknown): Promise<JsonRecord>;
}

/** Takes turns by a process. */
export function createProcessTurn(
  call: CallProcess,
  log: Pick<CallLog, "info" | "warn" | "error">,
): TurnFunction {
  return async (turn) => {
    const { signal, agent, callTool } = turn as TurnMeans;
    const result = await call({
      params: {
        input: toldOf(turn),
        agent: { agent_id: agent.agentId, name: agent.persona, scopes: [], trust_tier: null },
        ...{ principal: null, method: "EXECUTE", path: "/", request_id: null },
      },
      ...{ endsAt: undefined, signal, log },
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
  const { signal: _, callTool: __, reason: ___, ...told } = isRecord(turn) ? turn : {};
  return told;
}
