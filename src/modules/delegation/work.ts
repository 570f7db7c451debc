/**
 * Performs a task as an agent of this server: each call is dispatched as that agent, with only the delegated scopes,
 * and is recorded in its chain. The first failure ends the task. 550 with the agent's answer · 551 if the agent
 * delegated in turn, and a later link does not hold.   AGTP "DELEGATE"
 */
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { Pair } from "../../catalog/pair.ts";
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import { type ActAs, actingCaller } from "../../dispatch/handling/acting.ts";
import {
  chainBroken,
  delegationFailed,
  type WorkOutcome,
} from "../../dispatch/refusals/delegation-refusals.ts";
import { type Refusal, refusalBody } from "../../dispatch/refusals/refusal.ts";
import type { RefusalCode } from "../../dispatch/refusals/refusal-code.ts";
import type { UpstreamError } from "../../endpoint/endpoint.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isDone } from "../../wire/message.ts";
import type { Performance } from "./delegate.ts";
import { type ExecutionRequest, mcpResult } from "./execute-request.ts";
import { failed, type InnerAnswer, type Outcome, readInnerAnswer } from "./outcome.ts";
import type { ActionResolver } from "./resolver.ts";

interface WorkOptions {
  readonly actAs: ActAs;
  readonly resolver: ActionResolver;
  isFloor(pair: Pair): boolean;
}

/** Performs the steps, until one fails. */
export async function work(
  options: WorkOptions,
  agent: AgentDocument,
  performance: Performance,
): Promise<Outcome> {
  const { time, request } = performance;
  const { task } = request;
  const priorActions: PriorAction[] = [];
  const results: unknown[] = [];
  for (const [index, step] of task.steps.entries()) {
    if (time.isOver)
      return failed(time.refusal(index === 0 ? "not-begun" : "unknown"), priorActions);
    const done = await time.race(takeStep(options, agent, performance, step));
    if (done === "aborted") return failed(time.refusal("unknown"), priorActions);
    const { pair, answer, auditId, awaitsAnswer } = done;
    if (auditId !== undefined) priorActions.push({ agent_id: agent.agentId, audit_id: auditId });
    // An operator's function may answer a failure status with a body of its own.
    if (answer.kind === "refusal" || !isDone(answer.status)) {
      return failed(stepFailed(agent, task.isSequence ? index : undefined, answer), priorActions);
    }
    const { status, output } = answer;
    const result = step.carried === undefined ? (output ?? null) : mcpResult(output, step.carried);
    if (!task.isSequence) return { kind: "completed", status, result, awaitsAnswer, priorActions };
    results.push({ method: pair?.method, path: pair?.path, status, result });
  }
  return { kind: "completed", status: 200, result: results, priorActions };
}

interface StepDone {
  readonly pair: Pair | undefined;
  readonly answer: InnerAnswer;
  readonly auditId: string | undefined;
  readonly awaitsAnswer?: boolean | undefined;
}

async function takeStep(
  { actAs, resolver, isFloor }: WorkOptions,
  agent: AgentDocument,
  { hop: { delegation }, taskId, escalationId, waitedForBy, time }: Performance,
  { action, input }: ExecutionRequest,
): Promise<StepDone> {
  const pair = resolver.resolve(action, input, agent.agentId);
  if ("kind" in pair) return { pair: undefined, answer: pair, auditId: undefined };
  const { method, path: target } = pair;
  const { scopes = [] } = delegation.links.at(-1) ?? {};
  const caller = actingCaller(agent, scopes, delegation);
  const { signal } = time;
  const asked = { caller, method, target, input, taskId, escalationId, waitedForBy, signal };
  const { status, body, auditId, awaitsAnswer } = await actAs(asked);
  const answer = readInnerAnswer({ status, headers: {}, body }, isFloor(pair));
  return { pair, answer, auditId, awaitsAnswer };
}

/** Builds the refusal for a failed step, with the status and message of its answer. */
function stepFailed(
  { agentId }: AgentDocument,
  step: number | undefined,
  answer: InnerAnswer,
): Refusal {
  const { status } = answer;
  const where = { agent_id: agentId, ...(step === undefined ? {} : { step }), status };
  if (answer.kind === "output") {
    const subAgent = { ...where, result: answer.output ?? null };
    const explanation = `the agent was answered ${status}`;
    const outcome = status === 500 ? "unknown" : "failed";
    return delegationFailed("sub-agent-failed", explanation, outcome, { sub_agent: subAgent });
  }
  const { error, ...carried } = refusalBody(answer);
  const subAgent = { ...where, error };
  if (status === 551 && isRecord(carried["link"])) {
    const link = { index: -1, ...carried["link"] };
    const explanation = `a link further on does not hold: ${answer.message}`;
    const known = carried["outcome"] === "unknown" ? { outcome: "unknown" } : {};
    return chainBroken("chain", explanation, link, { ...known, sub_agent: subAgent });
  }
  const explanation = `the agent was answered ${status}: ${answer.message}`;
  const outcome = outcomeOf(answer);
  return delegationFailed("sub-agent-failed", explanation, outcome, { sub_agent: subAgent });
}

/** Codes of refusals and errors that leave open if the step was done. */
const OPEN_ENDS: ReadonlySet<string> = new Set([
  "outcome-unknown" satisfies RefusalCode,
  ...(["upstream_timeout", "upstream_malformed_response"] satisfies UpstreamError[]),
]);

/** A refusal means that the step was not done; faults, upstreams and other agents may leave this unknown. */
function outcomeOf({ status, code, carried, details }: Answered): WorkOutcome {
  if (status === 500 || OPEN_ENDS.has(code)) return "unknown";
  const told = recordIn(details);
  switch (code) {
    case "upstream_connection_error" satisfies UpstreamError:
      return told["sent"] === false ? "failed" : "unknown";
    case "composition_failed": {
      const step = recordIn(told["error"]);
      const answered = { status: Number(told["status"]), code: String(step["code"]) };
      return outcomeOf({ ...answered, carried: step, details: step["details"] });
    }
    default:
      return status === 550 && carried?.["outcome"] === "unknown" ? "unknown" : "failed";
  }
}

/** The parts of a refusal, or of a composition step's answer, that tell the state of the work. */
type Answered = Pick<Refusal, "carried" | "details"> & {
  readonly status: number;
  readonly code: string;
};
