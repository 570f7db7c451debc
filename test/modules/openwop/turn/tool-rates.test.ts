/** How often a tool may be called, by whom, and when again. */
import { describe, expect, it } from "vitest";
import { MinuteRates } from "../../../../src/dispatch/rates/minute-rates.ts";
import { ToolRates } from "../../../../src/modules/openwop/turn/tool-rates.ts";
import { expectValid, openRuns } from "../../../support/openwop-runs.ts";

const SEAM = "/v1/host/sample/toolhooks/invoke";

function clock(perMinute: number) {
  let now = 0;
  const rates = new ToolRates(new MinuteRates(), () => now);
  rates.limit(perMinute);
  return {
    rates,
    pass: (ms: number): void => {
      now += ms;
    },
  };
}

// OpenWOP RFC 0064
describe("the rate of a tool", () => {
  it("is a bucket that fills again with time", () => {
    const { rates, pass } = clock(2);
    const take = () => rates.take("ann", "tool");
    expect([take(), take(), take()]).toEqual([undefined, undefined, 30_000]);
    pass(29_000);
    expect(take()).toBe(1000);
    pass(1000);
    expect([take(), take()]).toEqual([undefined, 30_000]);
    pass(600_000);
    expect([take(), take(), take()]).toEqual([undefined, undefined, 30_000]);
  });

  it("is each principal's own, and each tool's", () => {
    const { rates } = clock(1);
    const take = (who: string, what: string) => rates.take(who, what);
    expect(take("ann", "one")).toBeUndefined();
    expect(take("ann", "one")).toBe(60_000);
    expect(take("bob", "one")).toBeUndefined();
    expect(take("ann", "two")).toBeUndefined();
  });

  it("is one for all processes, each of which hears of the others' calls", () => {
    const [here, there] = [new MinuteRates(), new MinuteRates()];
    here.share((taking) => there.add(taking));
    const [one, other] = [here, there].map((rates) => new ToolRates(rates, () => 0));
    for (const rates of [one, other]) rates?.limit(3);
    const take = (rates = one) => rates?.take("ann", "tool");
    expect([take(), take(), take(other), take(other)]).toEqual([
      undefined,
      undefined,
      undefined,
      20_000,
    ]);
    expect(other?.take("bob", "tool")).toBeUndefined();
  });

  it("is none where there is no limit", () => {
    const { rates } = clock(0);
    for (let call = 0; call < 1000; call += 1) {
      expect(rates.take("ann", "tool")).toBeUndefined();
    }
  });

  it.each([
    [0, false],
    [2, true],
  ])("of %i is advertised as it is", async (toolCallsPerMinute, perToolRateLimit) => {
    const server = await openRuns({ toolCallsPerMinute });
    const { body } = await server.get("/.well-known/openwop", { key: null });
    expectValid(body, "capabilities");
    expect(body["toolHooks"]).toMatchObject({ perToolRateLimit });
  });

  it("holds for what the public suite calls", async () => {
    const server = await openRuns({ toolCallsPerMinute: 2 });
    const call = async (principal: string) => {
      const { body } = await server.post(SEAM, { principal, toolName: "tool", args: {} });
      return body["toolReturned"] as { status: string; durationMs?: number; error?: object };
    };
    const statuses = [await call("ann"), await call("ann")].map(({ status }) => status);
    expect(statuses).toEqual(["ok", "ok"]);
    const refused = await call("ann");
    expect(refused).toMatchObject({
      status: "rate_limited",
      error: { code: "rate_limited", details: { scope: "tool", toolName: "tool" } },
    });
    expect(refused.durationMs).toBeUndefined();
    expect((await call("bob")).status).toBe("ok");
  });
});
