/** The scenarios of starting: the start of a process, the first calls of endpoints, the first second. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { aimAt } from "./aim.ts";
import { startLoad } from "./load.ts";
import { median, spread, type Timing } from "./measure.ts";
import { openSocket } from "./open-socket.ts";
import { agtpRequest } from "./order.ts";
import { orderPath } from "./order-endpoint.ts";
import { served } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerProcess } from "./server-process.ts";
import type { ServerPool } from "./servers.ts";
import { Tally } from "./tally.ts";

/**
 * The start time with 1,000 endpoints before work was deferred, relative to Node's time for parsing
 * their files: 12.9 in nine alternating rounds, with quartiles of 12.8 and 14.1 (docs/limits.md).
 */
const FORMER_OVER_PARSING = 12;

/** Goal 4: the time from the start of the process to its listening line. */
export async function measureStart(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const few: number[] = [];
  const many: number[] = [];
  const ofFormer: number[] = [];
  for (let round = 0; round < timing.rounds; round += 1) {
    few.push((await started(pool.agtpd(10))).startMs);
    const server = await started(pool.agtpd(1_000));
    const parser = await started(pool.tomlParser(join(server.directory, "endpoints")));
    many.push(server.startMs);
    ofFormer.push(server.startMs / (parser.startMs * FORMER_OVER_PARSING));
  }
  const row = (endpoints: string, values: readonly number[], goal: Row["goals"][number]): Row => ({
    ...{ scenario: "start", label: `start with ${endpoints} endpoints`, unit: "ms" },
    agtpd: median(values),
    goals: [goal],
  });
  return [
    row("10", few, atMost(spread(few), 350, "", "ms")),
    row("1,000", many, atMost(spread(ofFormer), 0.6, "the former start")),
  ];
}

async function started(starting: Promise<ServerProcess>): Promise<ServerProcess> {
  const server = await starting;
  await server.close();
  return server;
}

const FIRST_CALLS = 200;

/** Goal 3: the first call of an endpoint compared with later ones. */
export async function measureFirstCalls(pool: ServerPool): Promise<Row[]> {
  const server = await pool.agtpd(FIRST_CALLS + 1);
  const warm = agtpRequest("CREATE", orderPath(FIRST_CALLS));
  const { target } = await aimAt(server, pool.ca, "AGTP/1.0 200", [warm]);
  const requests = Array.from({ length: FIRST_CALLS }, (_, index) =>
    agtpRequest("CREATE", orderPath(index)),
  );
  const socket = openSocket(target, () => undefined);
  const times = async (some: readonly Buffer[]): Promise<number[]> => {
    const micros: number[] = [];
    for (const request of some) micros.push(await timeOf(socket, request));
    return micros;
  };
  // Warm-up, because first-time work of the connection and the pipeline is not the endpoint's.
  await times(Array.from({ length: 2_000 }, () => warm));
  const first = await times(requests);
  const later = await times(requests);
  socket.destroy();
  const ratios = first.map((micros, index) => micros / (later[index] ?? Number.NaN));
  return [
    {
      ...{ scenario: "first", label: "the first call of an endpoint, median of 200", unit: "µs" },
      agtpd: median(first),
      goals: [atMost(median(ratios), 3, "a later call")],
    },
  ];
}

async function timeOf(socket: Socket, request: Buffer): Promise<number> {
  const answered = once(socket, "data");
  const startedAt = performance.now();
  socket.write(request);
  await answered;
  return (performance.now() - startedAt) * 1000;
}

/** The maximum number of servers that are watched for ten seconds each. */
const WATCHED = 5;

/** Goal 7: the throughput of the first second compared with the tenth. */
export async function measureWarmth(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const firsts: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < Math.min(WATCHED, timing.rounds); round += 1) {
    const server = await pool.agtpd(10);
    const { target } = await served(pool, server, 1);
    const tally = new Tally();
    const load = startLoad(target, { connections: 16, inFlight: 1 }, tally);
    const seconds: number[] = [];
    for (let second = 0; second < 10; second += 1) {
      tally.reset();
      await Promise.race([delay(1_000), load.failed]);
      seconds.push(tally.count);
    }
    load.stop();
    await server.close();
    firsts.push(seconds[0] ?? 0);
    ratios.push((seconds[0] ?? 0) / (seconds[9] ?? Number.NaN));
  }
  return [
    {
      ...{ scenario: "warm", label: "the first second after the ready line", unit: "req/s" },
      agtpd: median(firsts),
      goals: [atLeast(spread(ratios), 0.7, "of the tenth")],
    },
  ];
}
