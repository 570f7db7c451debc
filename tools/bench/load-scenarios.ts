/** The scenarios that load servers: throughput, many endpoints and agents, new connections. */
import type { Shape } from "./load.ts";
import { type Contender, measureRounds, medianOf, ratioOf, type Timing } from "./measure.ts";
import { compare, served, servedTo, startPeers } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** The load of most scenarios. */
export const ONE_IN_FLIGHT: Shape = { connections: 16, inFlight: 1 };
export const PIPELINED: Shape = { connections: 16, inFlight: 16 };
export const FRESH: Shape = { connections: 16, inFlight: 1, fresh: true };

/** Goals 1, 4 and 6: the whole pipeline compared with the raw echo and with fastify. */
export async function measureThroughput(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const quiet = await served(pool, await pool.agtpd(10), 10);
  const peers = { ...(await startPeers(pool)), quiet };
  const single = await measureRounds(peers, ONE_IN_FLIGHT, timing);
  const scenario = "throughput";
  return [
    {
      ...compare(single, "perSecond"),
      ...{
        scenario,
        label: "16 connections, 1 in flight each, as it is by default",
        unit: "req/s",
      },
      goals: [atLeast(ratioOf(single.agtpd, single.fastify, "perSecond"), 2, "fastify", false)],
    },
    {
      ...compare(single, "cpuMicros"),
      ...{ scenario, label: "the same: server CPU a request", unit: "µs" },
      goals: [atMost(ratioOf(single.agtpd, single.quiet, "cpuMicros"), 1.1, "without the log")],
    },
    {
      ...compare(single, "p99Micros"),
      ...{ scenario, label: "the same: 99th percentile", unit: "µs" },
      goals: [atMost(ratioOf(single.agtpd, single.raw, "p99Micros"), 1.5, "raw")],
    },
    {
      agtpd: medianOf(single.quiet, "cpuMicros"),
      raw: medianOf(single.raw, "cpuMicros"),
      ...{ scenario, label: "the same without the request log: server CPU", unit: "µs" },
      goals: [atMost(ratioOf(single.quiet, single.raw, "cpuMicros"), 1.5, "raw")],
    },
    ...(await measureDepths(peers, timing)),
  ];
}

async function measureDepths(
  peers: Readonly<Record<"raw" | "agtpd" | "fastify", Contender>>,
  timing: Timing,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const inFlight of [4, PIPELINED.inFlight, 64]) {
    const samples = await measureRounds(peers, { ...PIPELINED, inFlight }, timing);
    const toFastify = ratioOf(samples.agtpd, samples.fastify, "perSecond");
    rows.push({
      ...compare(samples, "perSecond"),
      ...{ scenario: "throughput", label: `16 connections, ${inFlight} in flight each` },
      unit: "req/s",
      goals: inFlight === PIPELINED.inFlight ? [atLeast(toFastify, 5, "fastify", false)] : [],
    });
  }
  return rows;
}

/** Goal 3: routing cost does not depend on the number of endpoints. */
export async function measureEndpoints(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const contenders = {
    few: await served(pool, await pool.agtpd(10), 10),
    many: await served(pool, await pool.agtpd(10_000), 10_000),
  };
  const { few, many } = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  return [
    {
      scenario: "endpoints",
      label: "10,000 endpoints, 16 connections, 1 in flight each",
      unit: "req/s",
      agtpd: medianOf(many, "perSecond"),
      goals: [atLeast(ratioOf(many, few, "perSecond"), 0.95, "of 10 endpoints")],
    },
  ];
}

/** Goal 3: the cost of records does not depend on the number of agents, each of which has a chain. */
export async function measureAgents(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const contender = async (agents: number): Promise<Contender> =>
    servedTo(pool, await pool.agtpd(10, { records: "unsigned", agents }), agents);
  const contenders = { few: await contender(10), many: await contender(10_000) };
  const { few, many } = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  return [
    {
      scenario: "agents",
      label: "10,000 agents with their chains, 16 connections, 1 in flight each",
      unit: "req/s",
      agtpd: medianOf(many, "perSecond"),
      goals: [atLeast(ratioOf(many, few, "perSecond"), 0.95, "of 10 agents")],
    },
  ];
}

/** Goal 4: one new connection a request, with a full handshake. */
export async function measureConnections(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const samples = await measureRounds(await startPeers(pool), FRESH, timing);
  const scenario = "connections";
  return [
    {
      ...compare(samples, "perSecond"),
      ...{
        scenario,
        label: "one new connection a request, 16 at a time",
        unit: "req/s",
        goals: [],
      },
    },
    {
      ...compare(samples, "cpuMicros"),
      ...{ scenario, label: "the same: server CPU a connection", unit: "µs" },
      goals: [atMost(ratioOf(samples.agtpd, samples.raw, "cpuMicros"), 1.15, "raw")],
    },
  ];
}
