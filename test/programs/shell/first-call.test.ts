/** The commands that lead from drafted endpoints to a first call. */
import { describe, expect, it } from "vitest";
import { firstCall, firstCallText } from "../../../src/programs/shell/first-call.ts";
import { makeDirectory } from "../../support/directory.ts";

const CALLS = [{ method: "QUERY", path: "/rooms", table: {} }];

function callAt(port?: number): string {
  const place = { home: makeDirectory(), endpoints: "endpoints", scope: "rooms:read" };
  const rest = { hasVariables: false, hasKey: true, ...(port !== undefined && { port }) };
  return firstCallText(firstCall(CALLS, { ...place, ...rest }));
}

describe("firstCall", () => {
  it.each([
    [undefined, "agtp://localhost QUERY /rooms"],
    [4480, "agtp://localhost QUERY /rooms"],
    [4499, "agtp://localhost:4499 QUERY /rooms"],
  ])("goes to the port of the configuration: %s", (port, call) => {
    expect(callAt(port)).toContain(`\n  agtp ${call} --agent-id $GUIDE\n`);
    expect(callAt(port)).not.toContain("PORT");
  });

  it("goes to the port that the daemon says where the configuration has any free one", () => {
    const text = callAt(0);
    expect(text).toMatch(/\n {2}PORT= +# of its line that says it listens\n/);
    expect(text).toContain("\n  agtp agtp://localhost:$PORT QUERY /rooms --agent-id $GUIDE\n");
  });
});
