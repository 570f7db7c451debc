/**
 * The measured servers, that is the raw echo, the daemon and fastify, and the requests they are
 * sent.
 */

import { aimAt } from "./aim.ts";
import { type Contender, medianOf, type Sample } from "./measure.ts";
import { agtpRequest, httpRequest } from "./order.ts";
import { orderPath } from "./order-endpoint.ts";
import type { Row } from "./row.ts";
import type { ServerProcess } from "./server-process.ts";
import type { ServerPool } from "./servers.ts";

/** Starts the daemon and its competitors, each with the same call. */
export async function startPeers(
  pool: ServerPool,
): Promise<Record<"raw" | "agtpd" | "fastify", Contender>> {
  return {
    raw: await rawPeer(pool),
    agtpd: await served(pool, await pool.agtpd(10, { logLevel: "info" }), 10),
    fastify: await aimAt(await pool.fastify(), pool.ca, "HTTP/1.1 200", [httpRequest("/orders")]),
  };
}

/** The raw echo. Default: one process. */
export async function rawPeer(pool: ServerPool, workers?: number): Promise<Contender> {
  const request = agtpRequest("CREATE", orderPath(0));
  return aimAt(await pool.rawEcho(workers), pool.ca, "AGTP/1.0 CREATE", [request]);
}

/** A request to each endpoint of a deployment. */
export function served(
  pool: ServerPool,
  server: ServerProcess,
  endpoints: number,
): Promise<Contender> {
  const requests = Array.from({ length: endpoints }, (_, index) =>
    agtpRequest("CREATE", orderPath(index)),
  );
  return aimAt(server, pool.ca, "AGTP/1.0 200", requests);
}

/** A request to one endpoint from each of several agents, starting with agent number `first`. */
export function servedTo(
  pool: ServerPool,
  server: ServerProcess,
  agents: number,
  first = 0,
): Promise<Contender> {
  const requests = Array.from({ length: agents }, (_, index) =>
    agtpRequest("CREATE", orderPath(0), { agent: first + index }),
  );
  return aimAt(server, pool.ca, "AGTP/1.0 200", requests);
}

/** Compares the medians of a quantity in a row. */
export function compare(
  samples: Readonly<Record<"raw" | "agtpd" | "fastify", readonly Sample[]>>,
  quantity: keyof Sample,
): Pick<Row, "raw" | "agtpd" | "fastify"> {
  return {
    raw: medianOf(samples.raw, quantity),
    agtpd: medianOf(samples.agtpd, quantity),
    fastify: medianOf(samples.fastify, quantity),
  };
}
