/**
 * Writes a chain of endpoints as a recipe: the source of each step's inputs, and of each member of the answer. A value
 * only goes to an input of its own name, and only from a guaranteed source: a missing one would fail the step.
 */

import { templateParameters } from "../../../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { declaredTypes } from "../../../endpoint/input-shape.ts";
import type { Aggregation, ParameterSource, Recipe, RecipeStep } from "../../../endpoint/recipe.ts";
import { SCHEMA_TYPES, type SchemaType } from "../../../schema/schema-vocabulary.ts";
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import { membersOf } from "./object-members.ts";
import { type Ask, gives, type SynthesisTask } from "./synthesis-task.ts";

/** A step, and the log's description of its inputs. */
interface WrittenStep {
  readonly step: RecipeStep;
  /** Descriptions of the inputs' sources. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Proposed inputs that the endpoint requires. */
  readonly needed: readonly string[];
}

/** The steps of a chain, each with every input that is available. */
export function writeSteps(
  task: SynthesisTask,
  chain: readonly IndexedEndpoint[],
): readonly WrittenStep[] {
  return chain.map((endpoint, at) => {
    const earlier = chain.slice(0, at);
    const required = endpoint.required.map((input) => requiredSource(task, input, earlier));
    const optional = endpoint.optional.flatMap(
      (input) => optionalSource(task, input, earlier) ?? [],
    );
    const sources = [...required, ...optional];
    const { method, path } = endpoint.definition;
    const parameters = Object.fromEntries(sources.map(({ name, source }) => [name, source]));
    const inputs = Object.fromEntries(sources.map(({ name, words }) => [name, words]));
    const proposed = required.filter(({ source }) => source.kind === "proposal");
    const needed = proposed.map(({ name }) => name);
    return { step: { method, path, captureAs: captureName(at), parameters }, inputs, needed };
  });
}

/** Creates the recipe of a plan that came from none. */
export function recipeOf(
  name: string,
  steps: readonly RecipeStep[],
  aggregation: Aggregation,
): Recipe {
  return {
    ...{ file: "", name, version: "", description: "", requiredScopes: [] },
    ...{ steps, aggregation },
  };
}

/** The aggregation of exactly the wanted members, each from the last step that always gives it. */
export function pickAsked(task: SynthesisTask, chain: readonly IndexedEndpoint[]): Aggregation {
  const members = [...task.asks, ...task.wishes].flatMap((ask): [string, string][] => {
    const at = giverOf(chain, ask);
    return at === -1 ? [] : [[ask.name, captureName(at)]];
  });
  return { mode: "pick", members: Object.fromEntries(members) };
}

function giverOf(chain: readonly IndexedEndpoint[], ask: Ask): number {
  const at = chain.findLastIndex((endpoint) => gives(endpoint, { ...ask, isRequired: true }));
  return at === -1 ? chain.findLastIndex((endpoint) => gives(endpoint, ask)) : at;
}

interface Source {
  readonly name: string;
  readonly source: ParameterSource;
  readonly words: string;
}

/** The source of a required input: the proposal if it always has it, else the latest output, else the proposal. */
function requiredSource(
  task: SynthesisTask,
  input: Input,
  earlier: readonly IndexedEndpoint[],
): Source {
  if (task.offerOf(input) === "always") return fromProposal(input);
  const at = stepsGiving(input, earlier).at(-1);
  return at === undefined ? fromProposal(input) : fromStep(input, at);
}

/** The source of an optional input; none if several outputs could be it. */
function optionalSource(
  task: SynthesisTask,
  input: Input,
  earlier: readonly IndexedEndpoint[],
): Source | undefined {
  if (task.isOffered(input)) return fromProposal(input);
  const [at, ...others] = stepsGiving(input, earlier);
  return at === undefined || others.length > 0 ? undefined : fromStep(input, at);
}

function stepsGiving({ sources }: Input, earlier: readonly IndexedEndpoint[]): readonly number[] {
  return earlier.flatMap(({ outputs }, at) =>
    outputs.some((output) => sources.has(output)) ? [at] : [],
  );
}

function fromProposal({ name }: Input): Source {
  return { name, source: { kind: "proposal", value: name }, words: "proposal" };
}

function fromStep({ name }: Input, at: number): Source {
  const value = `${captureName(at)}.${name}`;
  return { name, source: { kind: "previous_step", value }, words: `step ${at + 1}` };
}

function captureName(at: number): string {
  return `step_${at + 1}`;
}

/** A step and its only target; undefined if it may have several, or the server's own. */
export interface StepWithTarget {
  readonly step: RecipeStep;
  readonly endpoint: EndpointDefinition | undefined;
}

/** The accepted types of each proposed input; unrestricted ones are omitted. */
export function inputTypesOf(
  steps: readonly StepWithTarget[],
): Readonly<Record<string, readonly SchemaType[]>> {
  const types = new Map<string, readonly SchemaType[]>();
  for (const { step, endpoint } of steps) {
    if (endpoint === undefined) continue;
    const inPath = new Set(templateParameters(step.path));
    const { properties } = membersOf(endpoint.inputSchema);
    for (const [parameter, source] of Object.entries(step.parameters)) {
      // Path values are written as text, whatever their type.
      if (source.kind !== "proposal" || inPath.has(parameter)) continue;
      const taken = declaredTypes(properties.get(parameter), endpoint.inputSchema);
      const known = types.get(source.value) ?? SCHEMA_TYPES;
      types.set(
        source.value,
        known.filter((type) => taken.has(type)),
      );
    }
  }
  return Object.fromEntries([...types].filter(([, all]) => all.length < SCHEMA_TYPES.length));
}
