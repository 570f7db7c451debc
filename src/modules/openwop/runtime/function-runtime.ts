/**
 * Takes turns with an operator's function. It receives plain data and two functions; its untrusted result is copied and
 * checked member by member. Its exceptions are logged, but the run only learns that it threw.
 */
import { setImmediate } from "node:timers/promises";
import { given, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { CallSurroundings } from "../../../handlers/call-upstream.ts";
import { type JsonDocument, parseBoundedJson } from "../../../identity/json-document.ts";
import { failed, readHandoff } from "../agent-executor.ts";
import type { AgentRuntime, RuntimeAnswer, RuntimeTurn } from "./agent-runtime.ts";

/** The operator's function. */
export type TurnFunction = (turn: unknown, surroundings?: CallSurroundings) => unknown;

interface FunctionRuntimeOptions {
  readonly take: TurnFunction;
  onFault(error: unknown, agentId: string): void;
}

/** Longer texts take too long to redact. */
const MAX_LENGTH = 4_194_304;

/** Creates the runtime. */
export function createFunctionRuntime({ take, onFault }: FunctionRuntimeOptions): AgentRuntime {
  return {
    async takeTurn(turn) {
      const hear = (error: unknown): void => {
        if (!turn.signal.aborted) onFault(error, turn.agent.agentId);
      };
      let returned: unknown;
      try {
        returned = await take(describeTurn(turn), turn.surroundings);
      } catch (error) {
        hear(error);
        return failed("agent_failed", "the agent's function threw");
      }
      return readAnswer(plainCopy(returned, hear));
    },
    close: () => Promise.resolve(),
  };
}

/** Copies the turn, so that the function can change its own copy only. */
function describeTurn(turn: RuntimeTurn): Readonly<Record<string, unknown>> {
  const { agent, prompt, task, tools, history, options, signal, reasoning } = turn;
  return {
    ...structuredClone({ agent, prompt, task, tools, history, options }),
    returnSchema: structuredClone(turn.returnSchema?.schema),
    signal,
    callTool: (toolId: unknown, input: unknown = {}) =>
      unwaited(takeStep(signal, () => callTool(turn, toolId, input))),
    reason: (text: unknown) =>
      unwaited(takeStep(signal, () => reasoning.say(typeof text === "string" ? text : ""))),
  };
}

/**
 * Yields to the event loop, since a function that calls in a loop would block the server. Throws once the turn is over,
 * which ends such a loop.
 */
async function takeStep<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const acting = unwaited(act());
  await setImmediate();
  signal.throwIfAborted();
  return acting;
}

async function callTool(
  turn: RuntimeTurn,
  toolId: unknown,
  input: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const copy = plainCopy(input);
  if (copy.fault !== undefined) {
    return { error: { code: "invalid_arguments", message: `the arguments ${copy.fault}` } };
  }
  const answer = await turn.callTool(typeof toolId === "string" ? toolId : "", copy.value);
  return answer.kind === "returned" ? { outcome: answer.outcome } : { error: answer.error };
}

/** A function need not await its calls, so their rejections must not count as unhandled. */
function unwaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Copies through JSON, which finds what cannot be stored and reads getters once. */
function plainCopy(value: unknown, hear?: (error: unknown) => void): JsonDocument {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    hear?.(error);
    return { fault: "cannot be written as JSON" };
  }
  if (text === undefined) return { value: undefined };
  if (text.length > MAX_LENGTH)
    return { fault: `must not be longer than ${MAX_LENGTH} characters` };
  return parseBoundedJson(text);
}

function readAnswer(copy: JsonDocument): RuntimeAnswer {
  if (copy.fault !== undefined) {
    return failed("agent_malformed_answer", `what the agent's function returned ${copy.fault}`);
  }
  return isRecord(copy.value)
    ? readMembers(copy.value)
    : failed("agent_malformed_answer", "the agent's function returned no object");
}

function readMembers(answer: JsonRecord): RuntimeAnswer {
  const { result = null, reasoning, decision, confidence, handoff } = answer;
  return {
    kind: "answered",
    result,
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...given({ decision }),
    ...(confidence === undefined || confidence === null ? {} : { confidence }),
    ...readHandoff(handoff),
  };
}
