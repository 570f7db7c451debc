/** Who an MCP client without a token is, in whatever is kept for it. */
import { describe, expect, it } from "vitest";
import type { McpFront } from "../../../src/modules/mcp/front.ts";
import { identify } from "../../../src/modules/mcp/identify.ts";

const FRONT = {
  ...{ agent: { agentId: "a1".repeat(32) }, isAgentIssued: true, isAnonymousServed: true },
  ...{ tokens: undefined, protection: undefined },
} as unknown as McpFront;

async function keyOf(address: string): Promise<string | undefined> {
  const caller = await identify(FRONT, { authorization: undefined, address, port: 1 });
  return "key" in caller ? caller.key : undefined;
}

describe("a client without a token", () => {
  it("is one, whichever address of its network it comes from", async () => {
    const [key, ...others] = await Promise.all(
      ["2001:db8:0:1::5", "2001:db8:0:1:ffff::6", "2001:db8:0:2::5", "192.0.2.1"].map(keyOf),
    );
    expect(others.map((other) => other === key)).toEqual([true, false, false]);
    expect(await keyOf("::ffff:192.0.2.1")).toBe(await keyOf("192.0.2.1"));
  });
});
