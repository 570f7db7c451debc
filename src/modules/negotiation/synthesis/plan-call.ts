/**
 * Plans that end in the call of one endpoint: what it requires and is not offered is got from a
 * chain of others first. The answer of the endpoint, as it is, is the answer.   AGTP "PLAN"
 */
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { quoteNames, type SynthesisLog } from "../../../endpoint/synthesis-log.ts";
import type { IndexedEndpoint } from "./endpoint-index.ts";
import { findChain } from "./find-chain.ts";
import { type EndpointsPlan, planOfChain } from "./plan-from-endpoints.ts";
import type { Ask, SynthesisTask } from "./synthesis-task.ts";

interface CallParts {
  /** The values that are offered, and those that have to be come by. */
  taskFor(asks: readonly Ask[]): SynthesisTask;
  readonly maxSteps: number;
  readonly log: SynthesisLog;
}

/** Plans the call, or says what is in its way. */
export function planCall(target: EndpointDefinition, parts: CallParts): EndpointsPlan {
  const { taskFor, maxSteps, log } = parts;
  const pair = `${target.method} ${target.path}`;
  const task = taskFor([]);
  const endpoint = task.index.endpoints.find(({ definition }) => definition === target);
  if (endpoint === undefined) return none(`the method policy does not expose ${pair}`);
  if (!task.isUsable(endpoint)) return none(`${pair}: ${task.obstacle(endpoint)}`);
  const asks = asksOf(endpoint, task);
  if (asks.length === 0) return planOfCall("passthrough", [endpoint], task, log);
  const names = asks.map(({ name }) => name);
  const needs = `${pair} needs ${quoteNames(names)}`;
  if (maxSteps < 2) return none(`${needs}, and one step is all that a plan may have`, names);
  const planned = findChain(taskFor(asks), maxSteps - 1, log);
  if (planned.kind === "none") {
    const inputs = [...new Set([...planned.outputs, ...planned.inputs])];
    return none(`${needs}: ${planned.explanation}`, inputs.length > 0 ? inputs : names);
  }
  const chain = [...planned.chain.filter((step) => step !== endpoint), endpoint];
  return planOfCall("planner", chain, task, log);
}

/** The required inputs that are not offered, as something to come by. */
function asksOf({ required }: IndexedEndpoint, task: SynthesisTask): readonly Ask[] {
  return required
    .filter((input) => !task.isOffered(input))
    .map(({ name, sources }) => ({ name, isRequired: true, outputs: sources }));
}

function planOfCall(
  kind: "passthrough" | "planner",
  chain: readonly IndexedEndpoint[],
  task: SynthesisTask,
  log: SynthesisLog,
): EndpointsPlan {
  return { kind: "plan", plan: planOfChain(kind, chain, "last", task, log) };
}

function none(explanation: string, inputs: readonly string[] = []): EndpointsPlan {
  return { kind: "none", explanation, outputs: [], inputs };
}
