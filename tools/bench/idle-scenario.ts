/** The scenario without a load: the memory of an idle connection. */
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Contender, Timing } from "./measure.ts";
import { openSocket } from "./open-socket.ts";
import { rawPeer, served } from "./peers.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

const OPENED_AT_ONCE = 20;

/** Goal 3: resident memory of connections that are idle after one request each. */
export async function measureIdle(
  pool: ServerPool,
  { idleConnections: count }: Timing,
): Promise<Row[]> {
  const raw = await rawPeer(pool);
  const agtpd = await served(pool, await pool.agtpd(10), 1);
  const rawKb = await residentKb(raw, count);
  const agtpdKb = await residentKb(agtpd, count);
  const each = ({ one, all }: Resident): number => (all - one) / (count - 1);
  const scenario = "idle";
  const connections = count.toLocaleString("en");
  return [
    {
      ...{ scenario, label: "resident with one idle connection", unit: "KB", goals: [] },
      ...{ raw: rawKb.one, agtpd: agtpdKb.one },
    },
    {
      ...{ scenario, label: `resident with ${connections} idle connections`, unit: "KB" },
      ...{ raw: rawKb.all, agtpd: agtpdKb.all, goals: [] },
    },
    {
      ...{ scenario, label: `memory of an idle connection of ${connections}`, unit: "KB" },
      ...{ raw: each(rawKb), agtpd: each(agtpdKb) },
      goals: [atMost(each(agtpdKb) - each(rawKb), 40, "beyond raw", "KB")],
    },
  ];
}

/** Resident memory in kilobytes. */
interface Resident {
  readonly one: number;
  readonly all: number;
}

async function residentKb(contender: Contender, count: number): Promise<Resident> {
  // Warm-up, because the first connections also load code, tables and arenas.
  closeAll(await openIdle(contender, 100));
  const sockets = await openIdle(contender, 1);
  await delay(200);
  const one = await contender.server.memory();
  sockets.push(...(await openIdle(contender, count - 1)));
  await delay(200);
  const all = await contender.server.memory();
  closeAll(sockets);
  return { one: one.rssBytes / 1024, all: all.rssBytes / 1024 };
}

async function openIdle(contender: Contender, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const length = Math.min(OPENED_AT_ONCE, count - sockets.length);
    const opening = Array.from({ length }, () => openOne(contender));
    sockets.push(...(await Promise.all(opening)));
  }
  return sockets;
}

/** Resolves once the connection has received its response. */
function openOne({ target }: Contender): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(target, () => socket.write(target.requests[0] ?? ""));
    let received = 0;
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("data", (chunk) => {
      received += chunk.length;
      if (received >= target.firstResponseBytes) resolve(socket);
    });
  });
}

function closeAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}
