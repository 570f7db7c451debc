/**
 * Finds the shortest chain of endpoints whose required inputs come from the proposal or from earlier outputs, and whose
 * outputs cover what is wanted. Longer chains than the policy allows are rejected.   AGTP-API §10.6, §10.7
 */
import { quoteNames, type SynthesisLog } from "../../../endpoint/synthesis-plan.ts";
import { arrange, type Candidate, Candidates, pruneChain } from "./chain.ts";
import { buildClosure, giversOfInput } from "./closure.ts";
import { type IndexedEndpoint, type Input, type Output, subjectOf } from "./endpoint-index.ts";
import { Levels } from "./levels.ts";
import { searchShortestChain } from "./shortest-chain.ts";
import { type Ask, giversOf, type SynthesisTask } from "./synthesis-task.ts";

/** The ordered steps of a chain, or the failure. */
type FoundChain =
  | { readonly kind: "chain"; readonly chain: readonly IndexedEndpoint[] }
  | ({ readonly kind: "none" } & NoChain);

/** Finds a chain for a task. */
export function findChain(task: SynthesisTask, maxSteps: number, log: SynthesisLog): FoundChain {
  if (task.asks.length === 0) {
    return none("no output is asked for that a chain of endpoints could give", log);
  }
  const levels = new Levels(task);
  const total = task.index.endpoints.length;
  log.considered("planner", `${levels.reached} of ${total} endpoints can be called`);
  logObstacles(task, log);
  const unmet = task.asks.filter((ask) => levels.ofAsk(ask) === 0);
  if (unmet.length === 0) return findChainWithin(task, levels, maxSteps, log);
  const gap = explainGap(unmet, task, levels);
  return none(gap.explanation, log, gap);
}

function findChainWithin(
  task: SynthesisTask,
  levels: Levels,
  maxSteps: number,
  log: SynthesisLog,
): FoundChain {
  const { asks, offers } = task;
  const lowest = Math.max(...asks.map((ask) => levels.ofAsk(ask)));
  if (lowest > maxSteps) return none(`no chain that would do has fewer than ${lowest} steps`, log);
  const candidates = new Candidates(task, levels);
  const greedy = walkGreedily(asks, levels, candidates);
  const highest = Math.min(maxSteps, greedy.length);
  const closure = buildClosure({ asks, levels, candidates, maxSteps: highest });
  const known = greedy.length <= maxSteps ? greedy : undefined;
  const found = searchShortestChain(closure, { lowest, highest, known, offered: offers.length });
  const { best, isComplete } = found;
  if (best === undefined) return tooLong(greedy.length, maxSteps, isComplete, log);
  if (!isComplete) {
    log.considered("planner", "the search was ended early; a better chain may exist");
  }
  return { kind: "chain", chain: arrange(best).ordered.map(({ endpoint }) => endpoint) };
}

/** Logs why endpoints with wanted outputs are not used. */
function logObstacles(task: SynthesisTask, log: SynthesisLog): void {
  for (const endpoint of new Set(task.asks.flatMap((ask) => giversOf(ask)))) {
    if (task.isUsable(endpoint)) continue;
    log.rejected("planner", subjectOf(endpoint), () => task.obstacle(endpoint) ?? "");
  }
}

function tooLong(
  length: number,
  maxSteps: number,
  isComplete: boolean,
  log: SynthesisLog,
): FoundChain {
  if (isComplete) return none(`every chain that would do has more than ${maxSteps} steps`, log);
  const found = `the shortest chain that was found has ${length} steps, expected at most ${maxSteps}`;
  return none(`${found}; the search was ended early`, log);
}

function none(
  explanation: string,
  log: SynthesisLog,
  { outputs, inputs }: Omit<NoChain, "explanation"> = { outputs: [], inputs: [] },
): FoundChain {
  log.considered("planner", explanation);
  return { kind: "none", explanation, outputs, inputs };
}

/** The longest chain that is pruned. */
const MAX_PRUNED = 64;
/** The maximum number of suppliers compared per goal. */
const MAX_COMPARED = 256;

/** Finds any chain that meets all wanted outputs, which must be reachable. */
function walkGreedily(
  asks: readonly Ask[],
  levels: Levels,
  candidates: Candidates,
): readonly Candidate[] {
  const chosen = new Set<IndexedEndpoint>();
  const wanted = new Set<Input | Output>(asks.flatMap(({ outputs }) => [...outputs]));
  const open = asks
    .map((ask) => ({ givers: giversOf(ask), level: levels.ofAsk(ask) }))
    .sort((a, b) => b.givers.length - a.givers.length);
  for (let goal = open.pop(); goal !== undefined; goal = open.pop()) {
    const { givers, level } = goal;
    const soonest = givers.filter((giver) => levels.ofEndpoint(giver) === level);
    const giver = mostUseful(soonest.slice(0, MAX_COMPARED), wanted);
    if (giver === undefined || soonest.some((one) => chosen.has(one))) continue;
    chosen.add(giver);
    for (const given of [...giver.outputs, ...giver.feeds]) wanted.delete(given);
    // Needs have a lower level than their step, so the walk ends and the steps are callable.
    for (const need of candidates.of(giver).needs) {
      wanted.add(need);
      open.push({ givers: giversOfInput(need), level: levels.ofInput(need) });
    }
  }
  const steps = Array.from(chosen, (endpoint) => candidates.of(endpoint));
  return steps.length > MAX_PRUNED ? steps : pruneChain(steps, asks);
}

/** The supplier of the most wanted properties; among equals, with the fewest needs. */
function mostUseful(
  givers: readonly IndexedEndpoint[],
  wanted: ReadonlySet<Input | Output>,
): IndexedEndpoint | undefined {
  let best: IndexedEndpoint | undefined;
  let bestRank = Number.NEGATIVE_INFINITY;
  for (const giver of givers) {
    const { outputs, feeds, required } = giver;
    const useful = [...outputs, ...feeds].filter((given) => wanted.has(given)).length;
    const rank = useful - required.length / 1000;
    if (rank <= bestRank) continue;
    best = giver;
    bestRank = rank;
  }
  return best;
}

/** The failure to find a chain. */
export interface NoChain {
  readonly explanation: string;
  /** Names of wanted outputs that nothing supplies. */
  readonly outputs: readonly string[];
  /** Names of inputs that nothing supplies. */
  readonly inputs: readonly string[];
}

const MAX_INPUTS = 1000;
const MAX_NAMES = 20;

function explainGap(unmet: readonly Ask[], task: SynthesisTask, levels: Levels): NoChain {
  const isUsable = (endpoint: IndexedEndpoint): boolean => task.isUsable(endpoint);
  const ungiven = unmet.filter((ask) => !giversOf(ask).some(isUsable));
  const outputs = namesOf(ungiven);
  const inputs = namesOf(findMissing(unmet, task, levels));
  return { outputs, inputs, explanation: explain(namesOf(unmet), outputs, inputs) };
}

/** Inputs that nothing supplies, at the start of every path to the wanted outputs. */
function findMissing(unmet: readonly Ask[], task: SynthesisTask, levels: Levels): readonly Input[] {
  const seen = new Set<Input>();
  const visit = (endpoints: readonly IndexedEndpoint[]): void => {
    for (const endpoint of endpoints) {
      if (!task.isUsable(endpoint)) continue;
      for (const input of endpoint.required) {
        const isMissing = !task.isOffered(input) && levels.ofInput(input) === 0;
        if (isMissing && seen.size < MAX_INPUTS) seen.add(input);
      }
    }
  };
  for (const ask of unmet) visit(giversOf(ask));
  const missing: Input[] = [];
  // Iterating over a Set includes entries added meanwhile.
  for (const input of seen) {
    // An endpoint that itself requires the value is no supplier of it.
    const givers = giversOfInput(input).filter(
      (giver) => task.isUsable(giver) && !giver.required.some(({ name }) => name === input.name),
    );
    if (givers.length === 0) missing.push(input);
    else visit(givers);
  }
  return missing;
}

function explain(
  unmet: readonly string[],
  outputs: readonly string[],
  inputs: readonly string[],
): string {
  if (outputs.length > 0) return `no endpoint that may be used gives ${quoteNames(outputs)}`;
  if (inputs.length === 0) {
    return `the endpoints that give ${quoteNames(unmet)} wait for each other`;
  }
  return `to give ${quoteNames(unmet)}, endpoints need ${quoteNames(inputs)}, which nothing gives`;
}

function namesOf(some: readonly { readonly name: string }[]): readonly string[] {
  return [...new Set(some.map(({ name }) => name))].sort().slice(0, MAX_NAMES);
}
