/** The scenario of Attribution-Records: none, unsigned, and signed, compared with their minimum costs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ONE_IN_FLIGHT, PIPELINED } from "./load-scenarios.ts";
import {
  type Contender,
  measureRounds,
  medianOf,
  type Ratio,
  ratioOf,
  type Sample,
  spread,
  type Timing,
} from "./measure.ts";
import { rawPeer, served } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";
import { measureRecordPrimitives, measureSignature } from "./signature.ts";

const SCENARIO = { scenario: "records" } as const;

/** Measures a record on every response, in its chain and in the journal before the reply leaves. */
export async function measureRecords(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const raw = await rawPeer(pool);
  const none = await served(pool, await pool.agtpd(10), 10);
  const unsigned = await served(pool, await pool.agtpd(10, { records: "unsigned" }), 10);
  const signed = await served(pool, await pool.agtpd(10, { records: "signed" }), 10);
  const single = await measureRounds({ raw, unsigned, signed }, ONE_IN_FLIGHT, timing);
  const signatures: number[] = [];
  const pipelined = await measureRounds({ raw, signed }, PIPELINED, timing, () => {
    signatures.push(measureSignature());
  });
  const limits = withSignature(pipelined.raw, signatures);
  const { cpuMicros, added } = await measureUnsigned({ none, unsigned }, timing);
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
      agtpd: cpuMicros,
      goals: [atMost(added, 1.6, "its hashes, base64url and share of a write")],
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

/**
 * Measures the CPU time of a call with an unsigned record, and the record's share relative to its
 * primitives. The share is a small difference of two drifting figures, so both are measured next to
 * each other, in shorter and more rounds.
 */
async function measureUnsigned(
  contenders: Readonly<Record<"none" | "unsigned", Contender>>,
  timing: Timing,
): Promise<{ readonly cpuMicros: number; readonly added: Ratio }> {
  const rounds = timing.rounds * SHORTER;
  const short = { ...timing, rounds, windowMs: timing.windowMs / SHORTER };
  const primitives: number[] = [];
  const { none, unsigned } = await measureRounds(contenders, PIPELINED, short, () => {
    primitives.push(measureRecordPrimitives(contenders.unsigned.server.directory));
  });
  const added = unsigned.map(
    ({ cpuMicros }, round) =>
      (cpuMicros - (none[round]?.cpuMicros ?? Number.NaN)) / (primitives[round] ?? Number.NaN),
  );
  return { cpuMicros: medianOf(unsigned, "cpuMicros"), added: spread(added) };
}

const SHORTER = 2;

/** The echo's rate if it also had to sign. */
function withSignature(samples: readonly Sample[], micros: readonly number[]): Sample[] {
  return samples.map((sample, round) => ({
    ...sample,
    perSecond: 1 / (1 / sample.perSecond + (micros[round] ?? 0) / 1e6),
  }));
}

/** The length of a record; a journal's first segment has one record per line. */
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
