/** The scenario of Attribution-Records: none, unsigned, and signed, beside what each costs at least. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ONE_IN_FLIGHT, PIPELINED } from "./load-scenarios.ts";
import { measureRounds, medianOf, ratioOf, type Sample, spread, type Timing } from "./measure.ts";
import { served, startPeers } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";
import { measureRecordPrimitives, measureSignature } from "./signature.ts";

const SCENARIO = { scenario: "records" } as const;

/** A record on every response, in its chain and in the journal before the reply leaves. */
export async function measureRecords(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const { raw, agtpd: none } = await startPeers(pool);
  const unsigned = await served(pool, await pool.agtpd(10, { records: "unsigned" }), 10);
  const signed = await served(pool, await pool.agtpd(10, { records: "signed" }), 10);
  const contenders = { raw, none, unsigned, signed };
  const single = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  const signatures: number[] = [];
  const primitives: number[] = [];
  const pipelined = await measureRounds(contenders, PIPELINED, timing, () => {
    signatures.push(measureSignature());
    primitives.push(measureRecordPrimitives());
  });
  const limits = withSignature(pipelined.raw, signatures);
  const added = pipelined.unsigned.map(
    ({ cpuMicros }, round) =>
      (cpuMicros - (pipelined.none[round]?.cpuMicros ?? 0)) / (primitives[round] ?? Number.NaN),
  );
  return [
    {
      ...{ ...SCENARIO, label: "with unsigned records, 16 x 1", unit: "req/s", goals: [] },
      agtpd: medianOf(single.unsigned, "perSecond"),
      raw: medianOf(single.raw, "perSecond"),
    },
    {
      ...{ ...SCENARIO, label: "with signed records, 16 x 1", unit: "req/s", goals: [] },
      agtpd: medianOf(single.signed, "perSecond"),
      raw: medianOf(withSignature(single.raw, signatures), "perSecond"),
    },
    {
      ...{ ...SCENARIO, label: "with unsigned records, 16 x 16: server CPU a request", unit: "µs" },
      agtpd: medianOf(pipelined.unsigned, "cpuMicros"),
      goals: [atMost(spread(added), 1.6, "its hashes and base64url")],
    },
    {
      ...{ ...SCENARIO, label: "with signed records, 16 x 16 (raw: echo and one signature)" },
      unit: "req/s",
      agtpd: medianOf(pipelined.signed, "perSecond"),
      raw: medianOf(limits, "perSecond"),
      goals: [atLeast(ratioOf(pipelined.signed, limits, "perSecond"), 0.65, "of the limit")],
    },
    {
      ...{ ...SCENARIO, label: "journal of an unsigned record", unit: "octets", goals: [] },
      agtpd: octetsOfRecord(unsigned.server.directory),
    },
    {
      ...{ ...SCENARIO, label: "journal of a signed record", unit: "octets", goals: [] },
      agtpd: octetsOfRecord(signed.server.directory),
    },
  ];
}

/** The echo's rate if it had to sign, too. */
function withSignature(samples: readonly Sample[], micros: readonly number[]): Sample[] {
  return samples.map((sample, round) => ({
    ...sample,
    perSecond: 1 / (1 / sample.perSecond + (micros[round] ?? 0) / 1e6),
  }));
}

/** A journal's first segment holds a record a line. */
function octetsOfRecord(deployment: string): number {
  const lines = readFileSync(join(deployment, FIRST_SEGMENT));
  return (
    lines.length /
    Math.max(
      1,
      lines.reduce((count, octet) => count + (octet === LINE_FEED ? 1 : 0), 0),
    )
  );
}

const FIRST_SEGMENT = ".agtp/journal/00000001.jws";
const LINE_FEED = 0x0a;
