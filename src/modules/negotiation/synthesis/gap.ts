/**
 * Explains why what is asked cannot be had: outputs that no usable endpoint gives, or inputs that
 * such endpoints need and that nothing gives. The agent is told, so that its next proposal can
 * offer them.   AGTP-API §10.3
 */
import { quoteNames } from "../../../endpoint/synthesis-log.ts";
import { giversOfInput } from "./closure.ts";
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import type { Levels } from "./levels.ts";
import { type Ask, giversOf, type SynthesisTask } from "./synthesis-task.ts";

/** The reason why there is no chain. */
export interface NoChain {
  readonly explanation: string;
  /** Names of asked outputs that nothing gives. */
  readonly outputs: readonly string[];
  /** Names of inputs that nothing gives. */
  readonly inputs: readonly string[];
}

const MAX_INPUTS = 1000;
const MAX_NAMES = 20;

/** Explains the asks that are out of reach. */
export function explainGap(unmet: readonly Ask[], task: SynthesisTask, levels: Levels): NoChain {
  const isUsable = (endpoint: IndexedEndpoint): boolean => task.isUsable(endpoint);
  const ungiven = unmet.filter((ask) => !giversOf(ask).some(isUsable));
  const outputs = namesOf(ungiven);
  const inputs = namesOf(findMissing(unmet, task, levels));
  return { outputs, inputs, explanation: explain(namesOf(unmet), outputs, inputs) };
}

/** Inputs at the beginning of every way to what is asked, which nothing gives. */
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
  // The set grows while it is walked, until all that is behind it has been seen.
  for (const input of seen) {
    // An endpoint that gives a value only to a caller that has it is no way to it.
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
