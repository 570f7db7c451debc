/**
 * The planner: the shortest chain of registered endpoints in which every required input comes from
 * the proposal or from an earlier output, and whose outputs cover what was asked. Chains of more
 * steps than the policy allows are no plans.   AGTP-API §10.6, §10.7
 */
import type { LogSubject, PlanLog } from "../../endpoint/plan-log.ts";
import { Candidates } from "./planner-candidate.ts";
import { arrange } from "./planner-chain.ts";
import { buildClosure } from "./planner-closure.ts";
import { explainGap } from "./planner-gap.ts";
import { walkGreedily } from "./planner-greedy.ts";
import type { IndexedEndpoint } from "./planner-index.ts";
import { Levels } from "./planner-levels.ts";
import { findChain } from "./planner-search.ts";
import { giversOf, type PlanningTask } from "./planner-task.ts";

/** A chain in the order of its steps, or why there is none. */
export type PlannedChain =
  | { readonly kind: "chain"; readonly chain: readonly IndexedEndpoint[] }
  | ({ readonly kind: "none" } & NoChain);

/** Why there is no chain. */
export interface NoChain {
  readonly explanation: string;
  /** Names of asked outputs that nothing gives. */
  readonly outputs: readonly string[];
  /** Names of inputs that nothing gives. */
  readonly inputs: readonly string[];
}

/** Plans a chain for a task. */
export function planChain(task: PlanningTask, maxDepth: number, log: PlanLog): PlannedChain {
  if (task.asks.length === 0) {
    return none("the proposal names no output that a chain of endpoints could give", log);
  }
  const levels = new Levels(task);
  const total = task.index.endpoints.length;
  log.considered("planner", `${levels.reached} of ${total} endpoints can be called`);
  logObstacles(task, log);
  const unmet = task.asks.filter((ask) => levels.ofAsk(ask) === 0);
  if (unmet.length === 0) return planWithin(task, levels, maxDepth, log);
  const gap = explainGap(unmet, task, levels);
  return none(gap.explanation, log, gap);
}

function planWithin(
  task: PlanningTask,
  levels: Levels,
  maxDepth: number,
  log: PlanLog,
): PlannedChain {
  const { asks, offers } = task;
  const lowest = Math.max(...asks.map((ask) => levels.ofAsk(ask)));
  if (lowest > maxDepth) return none(`no chain that would do has fewer than ${lowest} steps`, log);
  const candidates = new Candidates(task, levels);
  const greedy = walkGreedily(asks, levels, candidates);
  const highest = Math.min(maxDepth, greedy.length);
  const closure = buildClosure({ asks, levels, candidates, maxSteps: highest });
  const known = greedy.length <= maxDepth ? greedy : undefined;
  const found = findChain(closure, { lowest, highest, known, offered: offers.length });
  const { best, isComplete } = found;
  if (best === undefined) return tooLong(greedy.length, maxDepth, isComplete, log);
  if (!isComplete) {
    log.considered("planner", "the search was ended early; a better chain may exist");
  }
  return { kind: "chain", chain: arrange(best).ordered.map(({ endpoint }) => endpoint) };
}

/** Why endpoints that give what is asked are not used. */
function logObstacles(task: PlanningTask, log: PlanLog): void {
  for (const endpoint of new Set(task.asks.flatMap((ask) => giversOf(ask)))) {
    if (task.isUsable(endpoint)) continue;
    log.rejected("planner", subjectOf(endpoint), () => task.obstacle(endpoint) ?? "");
  }
}

/** An endpoint, as the log names it. */
export function subjectOf({ definition: { method, path } }: IndexedEndpoint): LogSubject {
  return { method, path };
}

function tooLong(
  length: number,
  maxDepth: number,
  isComplete: boolean,
  log: PlanLog,
): PlannedChain {
  if (isComplete) return none(`every chain that would do has more than ${maxDepth} steps`, log);
  const found = `the shortest chain that was found has ${length} steps, expected at most ${maxDepth}`;
  return none(`${found}; the search was ended early`, log);
}

function none(
  explanation: string,
  log: PlanLog,
  { outputs, inputs }: Omit<NoChain, "explanation"> = { outputs: [], inputs: [] },
): PlannedChain {
  log.considered("planner", explanation);
  return { kind: "none", explanation, outputs, inputs };
}
