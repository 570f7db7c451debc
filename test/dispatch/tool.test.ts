import { describe, expect, it } from "vitest";
import { listTools } from "../../src/dispatch/tool.ts";
import { makeEndpoint } from "../support/endpoint-definition.ts";

const FUNCTION = { type: "registered_function", function: "handlers.book" } as const;

function named(...pairs: readonly (readonly [string, string])[]): readonly string[] {
  const endpoints = pairs.map(([method, path]) => ({
    tier: "B" as const,
    definition: makeEndpoint(FUNCTION, { method, path }),
  }));
  return listTools(endpoints).map(({ name }) => name);
}

// AGTP-API §5.8.4
describe("listTools", () => {
  it("names a tool after its method and path", () => {
    expect(named(["BOOK", "/"], ["QUERY", "/rooms/{room_id}/night-rates"])).toEqual([
      "book",
      "query_rooms_room_id_night-rates",
    ]);
  });

  it("tells tools of one name apart, and neither is the first", () => {
    const names = named(["QUERY", "/a/b"], ["QUERY", "/a_b"]);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^query_a_b_[0-9a-f]{8}$/);
    expect(named(["QUERY", "/a_b"], ["QUERY", "/a/b"])).toEqual(names.toReversed());
  });

  it("makes no name longer than clients of MCP take", () => {
    const [name = ""] = named(["QUERY", `/${"long/".repeat(30)}end`]);
    expect(name).toMatch(/^query_long_[a-z_]*_[0-9a-f]{8}$/);
    expect(name).toHaveLength(64);
  });

  it("has nothing of the protocol's own but the agents that can be executed", () => {
    const endpoint = (method: string, path: string) => ({
      tier: "A" as const,
      definition: makeEndpoint(FUNCTION, { method, path }),
    });
    const listed = [endpoint("QUERY", "/agents"), endpoint("EXECUTE", "/agents/{agent_id}")];
    expect(listTools(listed).map(({ name }) => name)).toEqual(["execute_agents_agent_id"]);
  });
});
