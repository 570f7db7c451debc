/**
 * Whatever the endpoints and the proposal: a plan can be run, by the handler that runs compositions,
 * with nothing that is not sure to be there; and where there is none, there could be none.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EndpointDefinition, IMPACTS } from "../../src/endpoint/endpoint.ts";
import type { Proposal, SynthesisPlan } from "../../src/endpoint/synthesis-plan.ts";
import { createComposition } from "../../src/handlers/composition.ts";
import { type Dispatched, makeCall } from "../support/handler-call.ts";
import { holding, makeProposal, makeStep, makeSynthesizer } from "../support/synthesis.ts";

const NAMES = ["a", "b", "c", "d", "e", "f", "g"] as const;
const KINDS = ["string", "integer", "uuid"] as const;
const SCOPES = ["s:1", "s:2"];

const member = fc
  .record({
    name: fc.constantFrom(...NAMES),
    // Mostly one kind, or little would ever fit.
    kind: fc.oneof({ weight: 12, arbitrary: fc.constant("string") }, fc.constantFrom(...KINDS)),
    isOptional: fc.constantFrom(false, false, false, true),
  })
  .map(({ name, kind, isOptional }) => `${name}${isOptional ? "?" : ""}:${kind}`);
const members = (minLength: number, maxLength: number) =>
  fc.uniqueArray(member, { minLength, maxLength, selector: (text) => text[0] });

const endpoint = fc.record({
  takes: members(0, 2),
  gives: members(1, 3),
  inPath: fc.constantFrom(false, false, true),
  impact: fc.oneof(
    { weight: 5, arbitrary: fc.constant("informational" as const) },
    fc.constantFrom(...IMPACTS),
  ),
  requiredScopes: fc.oneof(
    { weight: 5, arbitrary: fc.constant<string[]>([]) },
    fc.subarray(SCOPES),
  ),
});

const world = fc.record({
  endpoints: fc
    .array(endpoint, { minLength: 4, maxLength: 9 })
    .map((all) =>
      all.map(({ inPath, ...words }, at) =>
        makeStep(`QUERY ${pathOf(at, words.takes, inPath)}`, words),
      ),
    ),
  proposal: fc
    .record({
      offers: members(1, 3),
      asks: members(1, 2),
      impact: fc.constantFrom("informational", ...IMPACTS),
    })
    .map(makeProposal),
  scopes: fc.subarray(SCOPES),
  maxDepth: fc.constantFrom(1, 2, 3, 4, 10),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

/** Any input may stand in the path, whether or not its schema requires it. */
function pathOf(at: number, takes: readonly string[], inPath: boolean): string {
  const [first] = takes;
  return inPath && first !== undefined ? `/e${at}/{${first[0]}}` : `/e${at}`;
}

const planIn = ({ endpoints, proposal, scopes, maxDepth }: World) =>
  makeSynthesizer(endpoints, { maxDepth }).plan(proposal, holding(...scopes));

type Properties = Readonly<Record<string, { readonly type?: string; readonly format?: string }>>;
const propertiesOf = (schema: Readonly<Record<string, unknown>>) =>
  schema["properties"] as Properties;
const requiredOf = (schema: Readonly<Record<string, unknown>>) => schema["required"] as string[];

/** A value of a property's kind that tells the property's name. */
function valueFor(name: string, schema: Readonly<Record<string, unknown>>): unknown {
  const { type, format } = propertiesOf(schema)[name] ?? {};
  const digit = NAMES.indexOf(name as (typeof NAMES)[number]);
  if (type === "integer") return digit;
  return format === "uuid" ? `0000000${digit}-0000-4000-8000-000000000000` : `${name}-text`;
}

/** Whether a value is of a property's kind, and came from a property of that name. */
function isOwn(value: unknown, name: string, schema: Readonly<Record<string, unknown>>): boolean {
  const uuid = { properties: { [name]: { type: "string", format: "uuid" } } };
  // A text may be any; the more special kinds are texts or numbers of their own.
  return (
    value === valueFor(name, schema) ||
    (propertiesOf(schema)[name]?.format === undefined && value === valueFor(name, uuid))
  );
}

const objectOf = (names: readonly string[], schema: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(names.map((name) => [name, valueFor(name, schema)]));

/** The endpoint of a dispatched pair, and its whole input. */
function arriveAt({ path, input }: Dispatched, endpoints: readonly EndpointDefinition[]) {
  const [, name, value] = path.split("/");
  const found = endpoints.find((one) => one.path.split("/")[1] === name);
  const parameter = found?.path.split("/")[2]?.slice(1, -1);
  if (found === undefined || parameter === undefined) return { found, input };
  const { type } = propertiesOf(found.inputSchema)[parameter] ?? {};
  return { found, input: { ...input, [parameter]: type === "integer" ? Number(value) : value } };
}

/** Runs a plan where every answer and every call has no more than it must have. */
async function run(plan: SynthesisPlan, { endpoints, proposal }: World) {
  const { inputSchema } = proposal;
  const names = new Set([...requiredOf(inputSchema), ...plan.neededInputs]);
  const arrived: EndpointDefinition[] = [];
  const call = makeCall({
    input: objectOf([...names], inputSchema),
    answer: (dispatched) => {
      const { found, input } = arriveAt(dispatched, endpoints);
      if (found === undefined) return { status: 404 };
      arrived.push(found);
      const { inputSchema: own, outputSchema } = found;
      for (const name of requiredOf(own)) expect(Object.keys(input ?? {})).toContain(name);
      for (const [name, value] of Object.entries(input ?? {})) {
        expect([found.path, name, isOwn(value, name, own)]).toEqual([found.path, name, true]);
      }
      return { body: { ...objectOf(requiredOf(outputSchema), outputSchema), extra: "extra" } };
    },
  });
  return { result: await createComposition(plan.recipe)(call), arrived };
}

function asksOf({ outputSchema }: Proposal): readonly string[] {
  const required = requiredOf(outputSchema);
  return required.length > 0 ? required : [];
}

describe("a plan", () => {
  it("can be run, step by step, and answers what was asked", async () => {
    const lengths = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(world, async (one) => {
        const plan = planIn(one);
        if (plan.kind === "failure") return;
        const { length } = plan.recipe.steps;
        lengths.set(length, (lengths.get(length) ?? 0) + 1);
        const { result, arrived } = await run(plan, one);
        expect(result).not.toHaveProperty("error");
        const body = "body" in result ? (result.body as Record<string, unknown>) : {};
        for (const name of asksOf(one.proposal)) {
          expect([name, isOwn(body[name], name, one.proposal.outputSchema)]).toEqual([name, true]);
        }
        expect(new Set(arrived).size).toBe(arrived.length);
      }),
      { numRuns: 1000 },
    );
    for (const length of [1, 2, 3]) expect(lengths.get(length)).toBeGreaterThan(0);
  });

  it("has no more steps, scopes and impact than it may", () => {
    fc.assert(
      fc.property(world, (one) => {
        const plan = planIn(one);
        if (plan.kind === "failure") return;
        const { endpoints, proposal, scopes, maxDepth } = one;
        const used = plan.recipe.steps.map((step) =>
          endpoints.find(({ path }) => path === step.path),
        );
        expect(used.length).toBeLessThanOrEqual(maxDepth);
        const needed = [...new Set(used.flatMap((step) => step?.requiredScopes ?? []))];
        expect(plan.requiredScopes).toEqual(needed);
        for (const scope of needed) expect(scopes).toContain(scope);
        const ranks = used.map((step) => IMPACTS.indexOf(step?.semantic.impact ?? "irreversible"));
        expect(IMPACTS.indexOf(plan.impact)).toBe(Math.max(...ranks));
        expect(Math.max(...ranks)).toBeLessThanOrEqual(IMPACTS.indexOf(proposal.semantic.impact));
      }),
      { numRuns: 400 },
    );
  });

  it("is the same in whichever order endpoints were registered", () => {
    const shuffled = world.chain((one) =>
      fc.record({
        one: fc.constant(one),
        endpoints: fc.shuffledSubarray(one.endpoints, { minLength: one.endpoints.length }),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ one, endpoints }) => {
        expect(planIn({ ...one, endpoints })).toEqual(planIn(one));
      }),
      { numRuns: 200 },
    );
  });

  it("is the shortest there is, and there is one whenever there could be one", () => {
    fc.assert(
      fc.property(world, (one) => {
        const outcome = planIn(one);
        const shortest = findShortest(one);
        const isThere = shortest !== undefined && shortest <= one.maxDepth;
        expect(outcome.kind === "failure" ? undefined : outcome.recipe.steps.length).toBe(
          isThere ? shortest : undefined,
        );
      }),
      { numRuns: 400 },
    );
  });
});

/** Tries every set of endpoints that the agent may use; the size of the smallest that will do. */
function findShortest({ endpoints, proposal, scopes }: World): number | undefined {
  const allowed = IMPACTS.indexOf(proposal.semantic.impact);
  const usable = endpoints.filter(
    ({ requiredScopes, semantic }) =>
      requiredScopes.every((scope) => scopes.includes(scope)) &&
      IMPACTS.indexOf(semantic.impact) <= allowed,
  );
  let shortest: number | undefined;
  for (let bits = 1; bits < 2 ** usable.length; bits += 1) {
    const some = usable.filter((_, at) => (bits >> at) % 2 === 1);
    const isShorter = shortest === undefined || some.length < shortest;
    if (isShorter && canAnswer(some, proposal)) shortest = some.length;
  }
  return shortest;
}

type Given = readonly (readonly [string, Readonly<Record<string, unknown>>])[];

/** Calls whatever can be called until nothing more can, and looks at what came of it. */
function canAnswer(
  some: readonly EndpointDefinition[],
  { inputSchema, outputSchema }: Proposal,
): boolean {
  const offered = Object.entries(propertiesOf(inputSchema));
  const called = new Set<EndpointDefinition>();
  const sure: [string, Readonly<Record<string, unknown>>][] = [];
  const all: [string, Readonly<Record<string, unknown>>][] = [];
  for (let before = -1; before < called.size; ) {
    before = called.size;
    for (const one of some) {
      const own = propertiesOf(one.inputSchema);
      const inPath = one.path.split("/")[2]?.slice(1, -1);
      const needs = new Set([
        ...requiredOf(one.inputSchema),
        ...(inPath === undefined ? [] : [inPath]),
      ]);
      const isReady = [...needs].every((name) => has([...offered, ...sure], name, own[name] ?? {}));
      if (!isReady || called.has(one)) continue;
      called.add(one);
      const given = Object.entries(propertiesOf(one.outputSchema));
      all.push(...given);
      sure.push(...given.filter(([name]) => requiredOf(one.outputSchema).includes(name)));
    }
  }
  const asked = propertiesOf(outputSchema);
  const required = requiredOf(outputSchema);
  return required.length > 0
    ? required.every((name) => has(sure, name, asked[name] ?? {}))
    : Object.entries(asked).every(([name, schema]) => has(all, name, schema));
}

function has(given: Given, name: string, schema: Readonly<Record<string, unknown>>): boolean {
  return given.some(
    ([other, { type, format }]) =>
      other === name &&
      type === schema["type"] &&
      (schema["format"] === undefined || schema["format"] === format),
  );
}
