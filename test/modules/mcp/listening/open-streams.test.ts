/** Which streams end by themselves, and when. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { TokenVerdict } from "../../../../src/identity/bearer-syntax.ts";
import type { McpCaller, McpFront } from "../../../../src/modules/mcp/front.ts";
import { OpenStreams } from "../../../../src/modules/mcp/listening/open-streams.ts";

const DESK = "d".repeat(64);
const EXPIRY = 60_000;

/** A deployment whose tokens expire after a minute, each named by its principal. */
function frontOf(now: () => number): McpFront {
  const judge = (principalId: string): TokenVerdict =>
    now() < EXPIRY
      ? { kind: "valid", principalId, expiresAt: EXPIRY }
      : { kind: "invalid", reason: "the token has expired" };
  const tokens = { recall: () => undefined, verify: async (token: string) => judge(token) };
  const agent = { agentId: DESK };
  return { agent, tokens, isAnonymousServed: true } as unknown as McpFront;
}

function callerOf(principalId: string): McpCaller {
  const fields = new Map([
    ["agent-id", DESK],
    ["authorization", principalId],
  ]);
  const peer = { address: "127.0.0.1", port: 1 };
  return { fields, peer, key: `${DESK} for ${principalId}` } as unknown as McpCaller;
}

describe("OpenStreams", () => {
  it("ends a stream once the token of its caller has expired, and keeps one that needs none", async () => {
    vi.useFakeTimers({ now: 0, toFake: ["setInterval", "clearInterval", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const front = frontOf(() => Date.now());
    const streams = new OpenStreams();
    streams.serve(front);
    const ended: string[] = [];
    const leave = streams.add({ caller: () => callerOf("ada"), end: () => ended.push("ada") });
    const anybody = { address: "127.0.0.1", port: 1 };
    const fields = new Map([["agent-id", DESK]]);
    const key = `${DESK} at 127.0.0.1`;
    const caller = { fields, peer: anybody, key } as unknown as McpCaller;
    const leaveToo = streams.add({ caller: () => caller, end: () => ended.push("anybody") });
    await vi.advanceTimersByTimeAsync(EXPIRY - 1);
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended).toEqual(["ada"]);
    leave();
    leaveToo();
    expect(vi.getTimerCount()).toBe(0);
  });
});
