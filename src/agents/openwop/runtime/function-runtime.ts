/**
 * A turn that a function of the operator's takes. What it is given is plain data with one function
 * in it; what it returns is looked at member by member, since it may be anything. What it throws is
 * told to the log, and to the run only that it threw.
 */
import { isRecord } from "../../../json-value.ts";
import type { AgentRuntime, RuntimeAnswer, RuntimeTurn } from "./agent-runtime.ts";

/** The operator's function. */
export type TurnFunction = (turn: unknown) => unknown;

/** What it is called with. */
export interface FunctionRuntimeOptions {
  readonly take: TurnFunction;
  onFault(error: unknown, agentId: string): void;
}

/** Creates it. */
export function createFunctionRuntime({ take, onFault }: FunctionRuntimeOptions): AgentRuntime {
  return {
    async takeTurn(turn) {
      let returned: unknown;
      try {
        returned = await take(describeTurn(turn));
        return readAnswer(returned);
      } catch (error) {
        if (!turn.signal.aborted) onFault(error, turn.agent.agentId);
        return failed("agent_failed", "the agent's function threw");
      }
    },
    close: () => Promise.resolve(),
  };
}

/** A copy: what the function changes is its own. */
function describeTurn(turn: RuntimeTurn): Readonly<Record<string, unknown>> {
  const { agent, prompt, task, tools, history, signal, options } = turn;
  return {
    ...structuredClone({ agent, prompt, task, tools, history, options }),
    returnSchema: structuredClone(turn.returnSchema?.schema),
    signal,
    callTool: async (toolId: unknown, input: unknown = {}) => {
      const answer = await turn.callTool(String(toolId), input);
      return answer.kind === "returned" ? { outcome: answer.outcome } : { error: answer.error };
    },
    reason: async (text: unknown) => {
      await turn.reasoning.add(String(text));
      await turn.reasoning.close();
    },
  };
}

function readAnswer(returned: unknown): RuntimeAnswer {
  // Through JSON: what cannot be kept is found out here, and getters are asked once.
  const text = JSON.stringify(returned);
  const answer: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isRecord(answer)) {
    return failed("agent_malformed_answer", "the agent's function returned no object");
  }
  const { result = null, reasoning, decision, confidence, handoff } = answer;
  const toAgentId = isRecord(handoff) ? handoff["toAgentId"] : handoff;
  const reason = isRecord(handoff) ? handoff["reason"] : undefined;
  return {
    kind: "answered",
    result,
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(decision === undefined ? {} : { decision }),
    ...(typeof confidence === "number" ? { confidence } : {}),
    ...(typeof toAgentId === "string"
      ? { handoff: { toAgentId, ...(typeof reason === "string" ? { reason } : {}) } }
      : {}),
  };
}

function failed(code: string, message: string): RuntimeAnswer {
  return { kind: "failed", error: { code, message } };
}
