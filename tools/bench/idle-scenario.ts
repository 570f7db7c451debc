/** The scenario that loads nothing: the memory of an idle connection. */
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { aimAt } from "./aim.ts";
import type { Contender } from "./measure.ts";
import { openSocket } from "./open-socket.ts";
import { agtpRequest } from "./order.ts";
import { orderPath } from "./order-endpoint.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

const IDLE_CONNECTIONS = 1_000;
const OPENED_AT_ONCE = 20;

/** Goal 3: resident memory a connection that has made one request and is silent since. */
export async function measureIdle(pool: ServerPool): Promise<Row[]> {
  const request = [agtpRequest("CREATE", orderPath(0))];
  const raw = await aimAt(await pool.rawEcho(), pool.ca, "AGTP/1.0 CREATE", request);
  const agtpd = await aimAt(await pool.agtpd(10), pool.ca, "AGTP/1.0 200", request);
  const rawBytes = await bytesPerConnection(raw);
  const agtpdBytes = await bytesPerConnection(agtpd);
  return [
    {
      scenario: "idle",
      label: "memory of an idle connection",
      unit: "KB",
      raw: rawBytes / 1024,
      agtpd: agtpdBytes / 1024,
      goals: [atMost((agtpdBytes - rawBytes) / 1024, 40, "beyond raw", "KB")],
    },
  ];
}

async function bytesPerConnection(contender: Contender): Promise<number> {
  // What the first connections bring with them (code, tables, arenas) is not theirs to answer for.
  closeAll(await openIdle(contender, 100));
  await delay(200);
  const before = await contender.server.memory();
  const sockets = await openIdle(contender, IDLE_CONNECTIONS);
  await delay(200);
  const after = await contender.server.memory();
  closeAll(sockets);
  return (after.rssBytes - before.rssBytes) / IDLE_CONNECTIONS;
}

async function openIdle(contender: Contender, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const opening = Array.from({ length: OPENED_AT_ONCE }, () => openOne(contender));
    sockets.push(...(await Promise.all(opening)));
  }
  return sockets;
}

/** Resolves when the connection has its one answer. */
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
