/** The metrics of several processes, as one daemon's. */
import { Counter, Gauge, Registry } from "prom-client";
import { expect, it } from "vitest";
import { type ProcessMetrics, SummedMetrics } from "../../src/server/summed-metrics.ts";

function makeProcess() {
  const registers = [new Registry()];
  const requests = new Counter({ name: "requests", help: "h", labelNames: ["status"], registers });
  const open = new Gauge({ name: "open", help: "h", registers });
  const delay = new Gauge({ name: "delay", help: "h", aggregator: "max", registers });
  return { registry: registers[0] as Registry, requests, open, delay };
}

async function valuesOf(summed: SummedMetrics): Promise<readonly string[]> {
  const lines = (await summed.metrics()).split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

it("sums what is counted, takes the slowest, and keeps the counts of those that are gone or silent", async () => {
  const [left, right] = [makeProcess(), makeProcess()];
  const alive = new Set([left, right]);
  const silent = new Set<typeof left>();
  const summed = new SummedMetrics(async () => {
    const all = [...alive].map(async (one) => {
      if (silent.has(one)) return [one, undefined] as const;
      return [one, (await one.registry.getMetricsAsJSON()) as ProcessMetrics] as const;
    });
    return new Map(await Promise.all(all));
  });
  left.requests.inc({ status: "200" }, 2);
  right.requests.inc({ status: "200" }, 3);
  right.requests.inc({ status: "404" });
  left.open.set(1);
  right.open.set(4);
  left.delay.set(0.2);
  right.delay.set(0.1);
  expect(await valuesOf(summed)).toEqual([
    'requests{status="200"} 5',
    'requests{status="404"} 1',
    "open 5",
    "delay 0.2",
  ]);
  const before = await valuesOf(summed);
  silent.add(right);
  for (let scrape = 0; scrape < 2; scrape += 1) expect(await valuesOf(summed)).toEqual(before);
  silent.delete(right);
  expect(await valuesOf(summed)).toEqual(before);
  alive.delete(right);
  for (let scrape = 0; scrape < 2; scrape += 1) {
    expect(await valuesOf(summed)).toEqual([
      'requests{status="200"} 5',
      'requests{status="404"} 1',
      "open 1",
      "delay 0.2",
    ]);
  }
});
