import { describe, expect, it } from "vitest";
import type { EndpointDefinition } from "../../../../src/endpoint/endpoint.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import {
  failureOf,
  holding,
  makeProposal,
  makeStep,
  makeSynthesizer,
  planOf,
  stepsOf,
} from "../../../support/synthesis.ts";

const LAYERS = 6;

/** Endpoints that lead from layer to layer, each with an output of its own besides. */
function makeLayers(count: number): EndpointDefinition[] {
  return Array.from({ length: count }, (_, at) => {
    const layer = at % LAYERS;
    const gives = [`l${layer + 1}`, `own${at}`];
    return makeStep(`QUERY /e${at}`, { takes: [`l${layer}`, `extra${at}?`], gives });
  });
}

/** Endpoints that give a few of many names each, of which a proposal asks for a good part. */
function makeCover(count: number): EndpointDefinition[] {
  let state = 1;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return `n${state % 40}`;
  };
  return Array.from({ length: count }, (_, at) =>
    makeStep(`QUERY /e${at}`, { takes: ["x"], gives: [...new Set([next(), next(), next()])] }),
  );
}

/** Milliseconds of the processor for the quickest of a few runs. */
function quickest(run: () => unknown): number {
  const times = Array.from({ length: 7 }, () => {
    const startedAt = cpuMs();
    run();
    return cpuMs() - startedAt;
  });
  return Math.min(...times);
}

describe("planning among thousands of endpoints", () => {
  const chain = makeProposal({ offers: ["l0"], asks: [`l${LAYERS}`] });
  const hopeless = makeProposal({ offers: ["l0"], asks: [`l${LAYERS}`, "unheard-of"] });
  const cover = makeProposal({
    offers: ["x"],
    asks: Array.from({ length: 14 }, (_, at) => `n${at * 2}`),
  });

  it.each([
    ["a chain", makeLayers, chain],
    ["no chain", makeLayers, hopeless],
    ["a cover, which is a hard problem", makeCover, cover],
  ])("takes no more than its share of time, for %s", (_title, makeWorld, proposal) => {
    const small = makeSynthesizer(makeWorld(1000));
    const large = makeSynthesizer(makeWorld(10_000));
    const run = (synthesizer: typeof small) =>
      quickest(() => synthesizer.plan(proposal, holding()));
    run(large);
    expect(run(large)).toBeLessThan(30 * run(small) + 5);
  });

  it("finds the one chain among thousands of other endpoints", () => {
    const endpoints = [
      ...makeLayers(5000),
      makeStep("FETCH /start", { takes: ["key"], gives: ["middle"] }),
      makeStep("FETCH /end", { takes: ["middle", "l1"], gives: ["answer"] }),
    ];
    const proposal = makeProposal({ offers: ["key", "l0"], asks: ["answer"] });
    expect(stepsOf(makeSynthesizer(endpoints).plan(proposal, holding()))).toEqual([
      "FETCH /start",
      "QUERY /e0",
      "FETCH /end",
    ]);
  });

  it("ends a search that would take too long, with the same answer each time", () => {
    const endpoints = makeCover(400);
    const plan = planOf(makeSynthesizer(endpoints).plan(cover, holding()));
    expect(plan.log.map(({ message }) => message)).toContain(
      "the search was ended early; a better chain may exist",
    );
    const again = makeSynthesizer(endpoints.toReversed()).plan(cover, holding());
    expect(again).toEqual(plan);
    const wide = makeProposal({
      offers: ["x"],
      asks: Array.from({ length: 24 }, (_, at) => `n${at}`),
    });
    const narrow = makeSynthesizer(endpoints, { maxDepth: 8 });
    const { explanation } = failureOf(narrow.plan(wide, holding()));
    expect(explanation).toContain("expected at most 8; the search was ended early");
  });

  it("goes down a chain of thousands without running out of stack", () => {
    const endpoints = Array.from({ length: 5000 }, (_, at) =>
      makeStep(`QUERY /e${at}`, { takes: [`c${at}`], gives: [`c${at + 1}`] }),
    );
    const synthesizer = makeSynthesizer(endpoints);
    const far = makeProposal({ offers: ["c0"], asks: ["c5000"] });
    expect(stepsOf(synthesizer.plan(far, holding()))).toBe(
      "no chain that would do has fewer than 5000 steps",
    );
    const near = makeProposal({ offers: ["c0"], asks: ["c9"] });
    expect(stepsOf(synthesizer.plan(near, holding()))).toHaveLength(9);
  });

  it("compares no two of thousands of kinds of one name", () => {
    const kindOf = (value: string) => ({
      type: "object",
      required: ["id"],
      properties: { id: { enum: [value] } },
    });
    const endpoints = Array.from({ length: 2000 }, (_, at) =>
      makeStep(`QUERY /e${at}`, {
        ...{ inputSchema: kindOf(`v${at}`), outputSchema: kindOf(`v${at + 1}`) },
      }),
    );
    const startedAt = cpuMs();
    const synthesizer = makeSynthesizer(endpoints);
    const proposal = { ...makeProposal(), inputSchema: kindOf("v3"), outputSchema: kindOf("v6") };
    expect(stepsOf(synthesizer.plan(proposal, holding()))).toHaveLength(3);
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});
