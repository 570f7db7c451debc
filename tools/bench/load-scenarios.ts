/** The scenarios that load servers: throughput, many endpoints, new connections, refusals. */
import { aimAt } from "./aim.ts";
import { orderPath } from "./deployment.ts";
import type { Shape } from "./load.ts";
import { type Contender, measureRounds, medianOf, medianRatio, type Timing } from "./measure.ts";
import { agtpRequest } from "./order.ts";
import { compare, served, startPeers } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** The load of most scenarios. */
export const ONE_IN_FLIGHT: Shape = { connections: 16, inFlight: 1 };
const PIPELINED: Shape = { connections: 16, inFlight: 16 };
const FRESH: Shape = { connections: 16, inFlight: 1, fresh: true };

/** Goals 1 and 4: the whole pipeline against the raw echo and against fastify. */
export async function measureThroughput(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const peers = await startPeers(pool);
  const single = await measureRounds(peers, ONE_IN_FLIGHT, timing);
  const pipelined = await measureRounds(peers, PIPELINED, timing);
  const logged = { agtpd: await served(pool, await pool.agtpd(10, { logLevel: "info" }), 10) };
  const logging = await measureRounds(logged, ONE_IN_FLIGHT, timing);
  const scenario = "throughput";
  return [
    {
      ...compare(single, "perSecond"),
      ...{ scenario, label: "16 connections, 1 in flight each", unit: "req/s" },
      goals: [
        atLeast(medianRatio(single.agtpd, single.raw, "perSecond"), 0.85, "of raw"),
        atLeast(medianRatio(single.agtpd, single.fastify, "perSecond"), 1.5, "fastify", false),
      ],
    },
    {
      ...compare(single, "cpuMicros"),
      ...{ scenario, label: "the same: server CPU a request", unit: "µs", goals: [] },
    },
    {
      ...compare(single, "p99Micros"),
      ...{ scenario, label: "the same: 99th percentile", unit: "µs" },
      goals: [atMost(medianRatio(single.agtpd, single.raw, "p99Micros"), 1.5, "raw")],
    },
    {
      agtpd: medianOf(logging.agtpd, "perSecond"),
      ...{ scenario, label: "the same, with the request log in a file", unit: "req/s", goals: [] },
    },
    {
      ...compare(pipelined, "perSecond"),
      ...{ scenario, label: "16 connections, 16 in flight each", unit: "req/s" },
      goals: [
        atLeast(medianRatio(pipelined.agtpd, pipelined.fastify, "perSecond"), 4, "fastify", false),
      ],
    },
  ];
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
      goals: [atLeast(medianRatio(many, few, "perSecond"), 0.95, "of 10 endpoints")],
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
      goals: [atMost(medianRatio(samples.agtpd, samples.raw, "cpuMicros"), 1.15, "raw")],
    },
  ];
}

/** Goal 5: a refusal costs no more than an answer. */
export async function measureRefusals(pool: ServerPool, timing: Timing): Promise<Row[]> {
  // With the request log: refusals of AGTP's own are logged at any level, answers are not.
  const server = await pool.agtpd(10, { logLevel: "info" });
  const path = orderPath(0);
  const aim = (status: number, request: Buffer): Promise<Contender> =>
    aimAt(server, pool.ca, `AGTP/1.0 ${status}`, [request]);
  const samples = await measureRounds(
    {
      served: await aim(200, agtpRequest("CREATE", path)),
      "459": await aim(459, agtpRequest("CRAETE", path)),
      "404": await aim(404, agtpRequest("CREATE", "/nowhere/00000")),
      "422": await aim(422, agtpRequest("CREATE", path, '{"item":"espresso","quantity":0}')),
    },
    ONE_IN_FLIGHT,
    timing,
  );
  const row = (status: "459" | "404" | "422"): Row => ({
    scenario: "refusals",
    label: `refused with ${status}: server CPU a request`,
    unit: "µs",
    agtpd: medianOf(samples[status], "cpuMicros"),
    goals: [atMost(medianRatio(samples[status], samples.served, "cpuMicros"), 1, "served")],
  });
  return [row("459"), row("404"), row("422")];
}
