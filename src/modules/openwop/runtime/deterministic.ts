/**
 * A turn that nobody takes: the same task comes to the same result, without a model. It calls no
 * tool. The result is a value of the return schema, or tells that the task was taken.
 */
import { isRecord } from "../../../base/json-value.ts";
import { PLAIN_STYLE } from "../../../schema/sample-style.ts";
import { schemaSample } from "../../../schema/schema-sample.ts";
import type { AgentRuntime, RuntimeAnswer, RuntimeTurn } from "./agent-runtime.ts";

/** Its behaviour. */
export interface DeterministicOptions {
  /** True if tasks of the public suite may ask for a result that breaks the schema. */
  readonly isConformance: boolean;
}

/** The task of the public suite that asks for it; the result is then a text, and no object. */
const RETURN_VIOLATION = "mock-return-violation";

/** Creates it; it holds nothing open. */
export function createDeterministicRuntime({ isConformance }: DeterministicOptions): AgentRuntime {
  return {
    takeTurn: (turn) => Promise.resolve(answer(turn, isConformance)),
    close: () => Promise.resolve(),
  };
}

function answer({ agent, task, returnSchema }: RuntimeTurn, isConformance: boolean): RuntimeAnswer {
  const isProbe = isConformance && isRecord(task) && task["scenario"] === RETURN_VIOLATION;
  return {
    kind: "answered",
    reasoning: `${agent.persona} takes the task without a model and answers in the form it is to have.`,
    decision: { action: "complete" },
    confidence: 1,
    result: isProbe ? RETURN_VIOLATION : resultOf(agent.agentId, task, returnSchema),
  };
}

function resultOf(
  agentId: string,
  task: unknown,
  returnSchema: RuntimeTurn["returnSchema"],
): unknown {
  if (returnSchema === undefined) return { agentId, task };
  return schemaSample(returnSchema.schema, { style: PLAIN_STYLE }) ?? null;
}
