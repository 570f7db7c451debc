/** The scenario of a long load: the daemon's memory after a tenth of it, and at its end. */
import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "./load.ts";
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import type { Timing } from "./measure.ts";
import { served } from "./peers.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";
import { Tally } from "./tally.ts";

/** In a shorter time memory does not settle. */
const TELLING_MS = 60_000;
/** The fraction of the time after which a server has allocated its permanent memory. */
const BEGINNING = 0.1;

/** Measures that memory does not grow with requests, nor with signed records whose journal is pruned meanwhile. */
export async function measureSoak(pool: ServerPool, { soakMs }: Timing): Promise<Row[]> {
  const server = await pool.agtpd(10, { records: "retained" });
  const { target } = await served(pool, server, 10);
  const tally = new Tally();
  const load = startLoad(target, ONE_IN_FLIGHT, tally);
  const residentAfter = async (ms: number): Promise<number> => {
    await Promise.race([delay(ms), load.failed]);
    return (await server.memory()).rssBytes / 1024;
  };
  try {
    const before = await residentAfter(soakMs * BEGINNING);
    const after = await residentAfter(soakMs * (1 - BEGINNING));
    const count = tally.count.toLocaleString("en");
    const minutes = (soakMs / 60_000).toFixed(1);
    return [
      {
        ...{ scenario: "soak", label: `resident after ${minutes} minutes and ${count} requests` },
        unit: "KB",
        agtpd: after,
        goals: soakMs < TELLING_MS ? [] : [atMost(after / before, 1.1, "after a tenth of it")],
      },
    ];
  } finally {
    load.stop();
  }
}
