/** What looking actions up costs, counted in what is read for it. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { ActionResolver, type ActionSources } from "../../../src/modules/delegation/resolver.ts";
import { makeStep } from "../../support/synthesis.ts";

const COUNT = 500;

function openResolver() {
  const counts = { endpoints: 0, names: 0 };
  const endpoints = Array.from({ length: COUNT }, (_, at) => ({
    tier: "B" as const,
    definition: makeStep(`BOOK /room-${at}`),
  }));
  const agents = Array.from({ length: COUNT }, (_, at) => ({
    agentId: at.toString(16).padStart(64, "0"),
    get name() {
      counts.names += 1;
      return `agent-${at}`;
    },
  })) as unknown as readonly AgentDocument[];
  const sources: ActionSources = {
    endpoints: () => {
      counts.endpoints += 1;
      return endpoints;
    },
    agents: () => ({ list: () => agents, resolve: () => undefined }),
    agentById: () => undefined,
    canonical: (pair) => pair,
  };
  return { resolver: new ActionResolver(sources), counts };
}

describe("looking actions up", () => {
  it("is made ready in steps of an endpoint, and not again by who asks", () => {
    const { resolver, counts } = openResolver();
    let steps = 0;
    for (const _ of resolver.prepare()) steps += 1;
    expect(steps).toBeGreaterThan(COUNT);
    const found = resolver.resolve({ kind: "name", name: "book_room-7" }, {}, undefined);
    expect(found).toEqual({ method: "BOOK", path: "/room-7" });
    expect(counts.endpoints).toBe(1);
  });

  it("reads the agents once, however many unknown names there are", () => {
    const { resolver, counts } = openResolver();
    atOnce(resolver.prepare());
    resolver.resolve({ kind: "name", name: "nobody" }, {}, undefined);
    const before = counts.names;
    for (const name of ["agent-x", "agnt-7", "nothing"]) {
      const refused = resolver.resolve({ kind: "name", name }, {}, undefined);
      expect(refused).toMatchObject({ status: 404 });
    }
    expect(counts.names).toBe(before);
  });
});
