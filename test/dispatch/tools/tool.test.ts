import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { listingTools } from "../../../src/dispatch/tools/tool.ts";
import { makeEndpoint } from "../../support/endpoint-definition.ts";

const FUNCTION = { type: "registered_function", function: "handlers.book" } as const;

function named(...pairs: readonly (readonly [string, string])[]): readonly string[] {
  const endpoints = pairs.map(([method, path]) => ({
    tier: "B" as const,
    definition: makeEndpoint(FUNCTION, { method, path }),
  }));
  return atOnce(listingTools(endpoints)).map(({ name }) => name);
}

// AGTP-API §5.8.4
describe("listingTools", () => {
  it("names a tool after its method and the literal segments of its path", () => {
    expect(named(["BOOK", "/"], ["QUERY", "/rooms/{room_id}/Night-rates.v2"])).toEqual([
      "book",
      "query_rooms_night-rates_v2",
    ]);
  });

  it("says by what parameters two of one name differ", () => {
    const names = named(
      ["QUERY", "/rooms"],
      ["QUERY", "/rooms/{room_id}"],
      ["QUERY", "/rooms/{room_id}/{night}"],
    );
    expect(names).toEqual([
      "query_rooms",
      "query_rooms_by_room_id",
      "query_rooms_by_room_id_and_night",
    ]);
  });

  it("tells what is still of one name apart by a digest, whatever the order", () => {
    const names = named(["QUERY", "/a/b"], ["QUERY", "/a_b"]);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^query_a_b_[0-9a-f]{8}$/);
    expect(named(["QUERY", "/a_b"], ["QUERY", "/a/b"])).toEqual(names.toReversed());
  });

  it("leaves a name to the endpoint that asks for it", () => {
    const definition = (path: string, tool?: string) => ({
      tier: "B" as const,
      definition: { ...makeEndpoint(FUNCTION, { method: "BOOK", path }), ...(tool && { tool }) },
    });
    const listed = [definition("/rooms"), definition("/suites", "book_rooms")];
    const names = atOnce(listingTools(listed)).map(({ name }) => name);
    expect(names).toEqual([expect.stringMatching(/^book_rooms_[0-9a-f]{8}$/), "book_rooms"]);
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
    expect(atOnce(listingTools(listed)).map(({ name }) => name)).toEqual(["execute_agents"]);
  });
});
