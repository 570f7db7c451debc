/** The scenario of `[attribution] durability`: the cost of syncing a record to disk before its reply leaves. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { inScratch } from "../scratch.ts";
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { measureRounds, median, medianOf, spread, type Timing } from "./measure.ts";
import { served } from "./peers.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

const ALONE = { connections: 1, inFlight: 1 } as const;
/** About the length of a signed record. */
const RECORD: string = "x".repeat(1_100);
const SYNCS = 200;

/** Measures both settings, and the disk's time to sync one record, in every round. */
export async function measureDurability(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const contenders = {
    process: await served(pool, await pool.agtpd(10, { records: "signed" }), 10),
    power: await served(pool, await pool.agtpd(10, { records: "power" }), 10),
  };
  const syncs: number[] = [];
  const alone = await measureRounds(contenders, ALONE, timing, async () => {
    syncs.push(await inScratch(measureSync));
  });
  const many = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  const sync = median(syncs);
  const scenario = "durability";
  const ratios = alone.power.map(({ p50Micros }, round) => p50Micros / (syncs[round] ?? sync));
  const signedAlone = medianOf(alone.process, "p50Micros");
  const powerAlone = medianOf(alone.power, "p50Micros");
  return [
    {
      ...{ scenario, label: "p50 of a signed call, process, 1 x 1 (raw: fdatasync)", unit: "µs" },
      ...{ agtpd: signedAlone, raw: sync, goals: [] },
    },
    {
      ...{ scenario, label: "p50 of a signed call, power, 1 x 1 (raw: fdatasync)", unit: "µs" },
      ...{ agtpd: powerAlone, raw: sync, goals: [atMost(spread(ratios), 2, "fdatasync")] },
    },
    ...(["process", "power"] as const).map(
      (name): Row => ({
        ...{ scenario, label: `signed calls, ${name}, 16 x 1`, unit: "req/s", goals: [] },
        agtpd: medianOf(many[name], "perSecond"),
      }),
    ),
  ];
}

/** The median time of syncing a file that has grown by one record, in microseconds. */
function measureSync(directory: string): number {
  const file = openSync(join(directory, "journal"), "a");
  try {
    const times = Array.from({ length: SYNCS }, () => {
      writeSync(file, RECORD);
      const began = performance.now();
      fdatasyncSync(file);
      return (performance.now() - began) * 1_000;
    });
    return median(times);
  } finally {
    closeSync(file);
  }
}
