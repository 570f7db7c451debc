/**
 * Builds a deployment's endpoint index once: reads each endpoint's inputs and outputs, and links outputs to compatible
 * inputs.
 */

import { addUnder } from "../../../base/listed.ts";
import type { Paced } from "../../../base/paced.ts";
import { SpreadMap } from "../../../base/spread-map.ts";
import { templateParameters } from "../../../catalog/path-grammar.ts";
import { type EndpointDefinition, IMPACTS, type Impact } from "../../../endpoint/endpoint.ts";
import {
  type EndpointIndex,
  type IndexedEndpoint,
  type Input,
  type Output,
  PropertyTable,
} from "./endpoint-index.ts";
import { compilingImpacts } from "./impact.ts";
import { findCondition, membersOf } from "./object-members.ts";
import { type DisjointType, isKindCovered, type SchemaKind } from "./schema-kind.ts";

interface GrowingInput extends Input {
  readonly takers: IndexedEndpoint[];
  readonly sources: Set<Output>;
}

interface GrowingEndpoint extends IndexedEndpoint {
  readonly feeds: Input[];
}

interface GrowingOutput extends Output {
  readonly givers: IndexedEndpoint[];
  readonly occasional: IndexedEndpoint[];
  readonly sinks: GrowingInput[];
}

/** Types that fit into one path segment. */
const PATH_TYPES: ReadonlySet<DisjointType> = new Set(["string", "integer", "fraction", "boolean"]);
/** The maximum of comparisons per name; beyond it, only equal kinds are linked. */
const MAX_COMPARISONS = 100_000;

/** The number of comparisons per step. */
const COMPARISONS_OF_STEP = 512;

/** Indexes endpoints sorted by pair, one endpoint or property per step. */
export function* indexingEndpoints(
  definitions: readonly EndpointDefinition[],
): Paced<EndpointIndex> {
  const impactOf = yield* compilingImpacts(definitions);
  const inputs = new PropertyTable<GrowingInput>((property, id) => {
    return { ...property, id, takers: [], sources: new Set() };
  });
  const outputs = new PropertyTable<GrowingOutput>((property, id) => {
    return { ...property, id, givers: [], occasional: [], sinks: [] };
  });
  const sorts = new Sorts();
  const endpoints: GrowingEndpoint[] = [];
  for (const [index, definition] of definitions.entries()) {
    const condition = findCondition(definition.inputSchema);
    const fault =
      condition && `its input_schema has "${condition}", which plans do not see through`;
    const taken = inputsOf(definition, inputs);
    const given = outputsOf(definition, outputs);
    const impact = impactOf(definition);
    const sort = sorts.of(impact, [
      taken.required,
      taken.optional,
      given.outputs,
      given.occasional,
    ]);
    const endpoint: GrowingEndpoint = {
      index,
      likeness: sort,
      definition,
      impact,
      fault,
      ...taken,
      ...given,
      feeds: [],
    };
    for (const input of taken.required) input.takers.push(endpoint);
    for (const output of given.outputs) output.givers.push(endpoint);
    for (const output of given.occasional) output.occasional.push(endpoint);
    endpoints.push(endpoint);
    yield;
  }
  for (const name of outputs.names) {
    yield* link(outputs.byName.get(name) ?? [], inputs.byName.get(name) ?? []);
    yield;
  }
  return {
    endpoints,
    ...(yield* tabulating(endpoints)),
    inputCount: inputs.size,
    ...{ inputs: inputs.byName, outputs: outputs.byName },
  };
}

/** Numbers endpoints, giving equal ones the same number. */
class Sorts {
  readonly #known = new SpreadMap<number>();

  of(impact: Impact, properties: readonly (readonly { readonly id: number }[])[]): number {
    const ids = properties.map((some) => some.map(({ id }) => id).sort((a, b) => a - b));
    const key = `${impact} ${JSON.stringify(ids)}`;
    const known = this.#known.get(key) ?? this.#known.size;
    this.#known.set(key, known);
    return known;
  }
}

function openImpact({ fault, impact, definition }: IndexedEndpoint): number {
  const isOpen = fault === undefined && definition.requiredScopes.length === 0;
  return isOpen ? IMPACTS.indexOf(impact) : -1;
}

interface Taken {
  readonly required: readonly GrowingInput[];
  readonly optional: readonly GrowingInput[];
}

/** The inputs of an endpoint; a path parameter is required and fits one segment. */
function inputsOf(
  { inputSchema: root, path }: EndpointDefinition,
  table: PropertyTable<GrowingInput>,
): Taken {
  const { properties, required } = membersOf(root);
  const inPath = new Set(templateParameters(path));
  const taken = { required: [] as GrowingInput[], optional: [] as GrowingInput[] };
  for (const name of new Set([...properties.keys(), ...inPath])) {
    const written = { name, schema: properties.get(name) ?? true, root };
    const input = inPath.has(name)
      ? table.intern(written, "path", withinPath)
      : table.intern(written);
    (required.has(name) || inPath.has(name) ? taken.required : taken.optional).push(input);
  }
  return taken;
}

function withinPath(kind: SchemaKind): SchemaKind {
  return new Map([...kind].filter(([type]) => PATH_TYPES.has(type)));
}

interface Given {
  readonly outputs: readonly GrowingOutput[];
  readonly occasional: readonly GrowingOutput[];
}

function outputsOf(
  { outputSchema: root }: EndpointDefinition,
  table: PropertyTable<GrowingOutput>,
): Given {
  const { properties, required } = membersOf(root);
  const given = { outputs: [] as GrowingOutput[], occasional: [] as GrowingOutput[] };
  for (const [name, schema] of properties) {
    // A property whose schema is false is never present.
    if (schema === false) continue;
    const output = table.intern({ name, schema, root });
    (required.has(name) ? given.outputs : given.occasional).push(output);
  }
  return given;
}

/** Links outputs to the compatible inputs of the same name. */
function* link(outputs: readonly GrowingOutput[], inputs: readonly GrowingInput[]): Paced<void> {
  const ofKind = new Map(inputs.map((input) => [input.kindText, input]));
  let comparisons = 0;
  for (const output of outputs) {
    // Sources refer to output members by dotted path, so such a name would lead elsewhere.
    if (!isReachable(output.name) || output.kind?.size === 0) continue;
    comparisons += inputs.length;
    const same = ofKind.get(output.kindText) ?? [];
    const compared = comparisons <= MAX_COMPARISONS ? inputs : [same].flat();
    for (const [at, input] of compared.entries()) {
      if (at % COMPARISONS_OF_STEP === 0) yield;
      if (!isKindCovered(output.kind, input.kind)) continue;
      output.sinks.push(input);
      input.sources.add(output);
    }
  }
}

/** Tells whether a source can refer to a member of this name. */
function isReachable(name: string): boolean {
  return name !== "" && !name.includes(".");
}

/** Completes the linked endpoints and builds the lookup tables. */
function* tabulating(
  endpoints: readonly GrowingEndpoint[],
): Paced<Pick<EndpointIndex, "byMethod" | "requiredCounts" | "openImpacts" | "undemanding">> {
  const byMethod = new Map<string, IndexedEndpoint[]>();
  const requiredCounts = new Int32Array(endpoints.length);
  const openImpacts = new Int8Array(endpoints.length);
  const undemanding: IndexedEndpoint[] = [];
  for (const endpoint of endpoints) {
    const { index, feeds, outputs, required, definition } = endpoint;
    for (const { sinks } of outputs) for (const sink of sinks) feeds.push(sink);
    addUnder(byMethod, definition.method, endpoint);
    requiredCounts[index] = required.length;
    openImpacts[index] = openImpact(endpoint);
    if (required.length === 0) undemanding.push(endpoint);
    yield;
  }
  return { byMethod, requiredCounts, openImpacts, undemanding };
}
