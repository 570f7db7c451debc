/**
 * Finds the one endpoint that does alone what is asked: of those that are compatible, the one that
 * comes closest to the proposal.   AGTP-API §10.6
 */
import { quoteNames, type SynthesisLog } from "../../../endpoint/synthesis-log.ts";
import { type IndexedEndpoint, subjectOf } from "./endpoint-index.ts";
import { giversOf, gives, type SynthesisTask } from "./synthesis-task.ts";

/** Finds the compatible endpoint that comes closest. */
export function findPassthrough(
  task: SynthesisTask,
  log: SynthesisLog,
): IndexedEndpoint | undefined {
  const candidates = candidatesOf(task);
  log.considered("passthrough", `${candidates.length} endpoints could answer alone`);
  let best: Ranked | undefined;
  for (const endpoint of candidates) {
    if (!isCompatible(endpoint, task)) {
      log.rejected("passthrough", subjectOf(endpoint), () => explainFault(endpoint, task));
      continue;
    }
    const ranked = { endpoint, rank: rankOf(endpoint, task) };
    if (best === undefined || compareRanks(ranked, best) < 0) best = ranked;
  }
  return best?.endpoint;
}

/** The endpoints that give the rarest output, or those of the same method. */
function candidatesOf(task: SynthesisTask): readonly IndexedEndpoint[] {
  if (task.asks.length === 0) {
    const { index, proposal, offers } = task;
    return offers.length === 0 ? [] : (index.byMethod.get(proposal.method) ?? []);
  }
  const givers = task.asks.map((ask) => giversOf(ask));
  return givers.reduce((fewest, some) => (some.length < fewest.length ? some : fewest));
}

function isCompatible(endpoint: IndexedEndpoint, task: SynthesisTask): boolean {
  return (
    endpoint.required.every((input) => task.isOffered(input)) &&
    task.asks.every((ask) => gives(endpoint, ask)) &&
    task.isUsable(endpoint) &&
    (task.asks.length > 0 || unusedOffers(endpoint, task).length === 0)
  );
}

/** The reason why an endpoint does not do alone. */
function explainFault(endpoint: IndexedEndpoint, task: SynthesisTask): string {
  const obstacle = task.obstacle(endpoint);
  if (obstacle !== undefined) return obstacle;
  const asked = task.asks.filter((ask) => !gives(endpoint, ask));
  if (asked.length > 0) return `it does not give ${quoteNames(asked.map(({ name }) => name))}`;
  const needed = endpoint.required.filter((input) => !task.isOffered(input));
  if (needed.length === 0) return `it does not take ${quoteNames(unusedOffers(endpoint, task))}`;
  return `it needs ${quoteNames(needed.map(({ name }) => name))}, which the proposal does not offer`;
}

interface Ranked {
  readonly endpoint: IndexedEndpoint;
  readonly rank: readonly number[];
}

/**
 * The distance from the proposal, the weightiest part first: method, capability, namespace, inputs
 * that only one side has.
 */
function rankOf(endpoint: IndexedEndpoint, task: SynthesisTask): readonly number[] {
  const { method, semantic, namespace, path } = endpoint.definition;
  const { proposal } = task;
  const group = firstSegment(proposal.path);
  const isNear = namespace === group || firstSegment(path) === group;
  const unfed = endpoint.optional.filter((input) => !task.isOffered(input)).length;
  return [
    Number(method !== proposal.method),
    Number(semantic.capability !== proposal.semantic.capability),
    Number(!isNear),
    unusedOffers(endpoint, task).length + unfed,
    endpoint.index,
  ];
}

function unusedOffers(
  { required, optional }: IndexedEndpoint,
  task: SynthesisTask,
): readonly string[] {
  const taken = [...required, ...optional].filter((input) => task.isOffered(input));
  const names = new Set(taken.map(({ name }) => name));
  return task.offers.filter((name) => !names.has(name));
}

function firstSegment(path: string): string {
  return path.split("/")[1] ?? "";
}

function compareRanks({ rank: a }: Ranked, { rank: b }: Ranked): number {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
