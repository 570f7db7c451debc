import { describe, expect, it } from "vitest";
import type { UpstreamProgress } from "../../../src/handlers/call-upstream.ts";
import { progressReader } from "../../../src/handlers/mcp/mcp-tool.ts";
import { Secrets } from "../../../src/handlers/mcp/read-settings.ts";

function reader() {
  const told: UpstreamProgress[] = [];
  let time = 0;
  const secrets = new Secrets({ place: { kind: "http", url: "", token: "s3cr3t-token" } });
  const read = progressReader(
    (one) => told.push(one),
    secrets,
    () => time,
  );
  return { told, read, pass: (ms: number) => (time += ms) };
}

// MCP "Progress"
describe("progressReader", () => {
  it("hands on a number that grows, a bounded message and no secret", () => {
    const { told, read, pass } = reader();
    read({ progress: 1, total: 4, message: `s3cr3t-token ${"x".repeat(1_000)}` });
    expect(told).toEqual([
      { progress: 1, total: 4, message: expect.stringMatching(/^\[secret\]/) },
    ]);
    expect(told[0]?.message?.length).toBeLessThanOrEqual(256);
    pass(1_000);
    for (const odd of [{ progress: 1 }, { progress: "2" }, { progress: Number.NaN }, {}]) read(odd);
    expect(told).toHaveLength(1);
  });

  it("is told ten times a second at most, the end always, and a thousand times in all", () => {
    const { told, read, pass } = reader();
    for (let step = 1; step <= 50; step += 1) read({ progress: step, total: 100 });
    expect(told).toHaveLength(1);
    read({ progress: 100, total: 100 });
    expect(told).toHaveLength(2);
    for (let step = 101; step < 3_000; step += 1) {
      pass(100);
      read({ progress: step });
    }
    expect(told).toHaveLength(1_000);
  });
});
