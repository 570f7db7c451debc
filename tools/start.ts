#!/usr/bin/env node
/**
 * `npm start`: the sample deployment at the project's root, the order desk it calls, and a few
 * commands to try. An operator's own deployment needs `agtpd` alone.
 */
import { once } from "node:events";
import type { Server } from "node:https";
import { fileURLToPath } from "node:url";
import { type Daemon, startDaemon } from "../src/app/daemon.ts";
import { createLog } from "../src/base/log.ts";
import { formatProblem } from "../src/base/problem.ts";
import { ensureCertificate } from "../src/server/certificate.ts";
import { openStdout } from "../src/server/stdout.ts";
import { startOrderDesk } from "./sample-upstream.ts";

/** As in endpoints/orders/; not a secret, as the desk answers on loopback only. */
const DESK = { port: 4481, token: "sample-order-desk-key" } as const;

/** The agent of agents/concierge.agent.json. */
const CONCIERGE = "236cd4fdff74c17d27aa23919b929553712401ad5cc44eab5071d2c574ea0ccb";

const ROOT = new URL("../../", import.meta.url);

async function main(): Promise<void> {
  const desk = await openDesk();
  if (desk === undefined) {
    process.exitCode = 1;
    return;
  }
  const configPath = fileURLToPath(new URL("agtp-server.toml", ROOT));
  const log = createLog("info", openStdout());
  const options = { configPath, env: process.env, log };
  let result = await startDaemon(options);
  if (result.kind === "refused" && result.problems.every(({ key }) => key === "server.port")) {
    console.error("the sample's port is taken, so that a free one is used");
    result = await startDaemon({ ...options, port: 0 });
  }
  if (result.kind === "refused") {
    for (const problem of result.problems) console.error(formatProblem(problem));
    await log.flush();
    await closeDesk(desk);
    process.exitCode = 1;
    return;
  }
  stopOnSignal(result.daemon, desk);
  console.error(invitation(result.daemon.port));
}

async function openDesk(): Promise<Server | undefined> {
  const { cert, key } = await ensureCertificate(fileURLToPath(new URL(".agtp/sample", ROOT)));
  try {
    return await startOrderDesk({ ...DESK, cert, key });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    console.error(`port ${DESK.port} of the order desk is taken: is the sample running already?`);
    return undefined;
  }
}

/** SIGHUP reloads, as it does with `agtpd`; the other two drain and end, as `agtpd stop` does. */
function stopOnSignal(daemon: Daemon, desk: Server): void {
  void daemon.ended.then(() => closeDesk(desk)).then(() => process.exit(0));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Ctrl-C reaches the whole process group, and npm passes it on as well: it drains once.
    process.on(signal, () => void daemon.drain());
  }
  process.on("SIGHUP", () => {
    daemon.reload().catch((error: unknown) => console.error("nothing changed:", error));
  });
}

async function closeDesk(desk: Server): Promise<void> {
  desk.close();
  desk.closeAllConnections();
  await once(desk, "close");
}

/** A function, an existing HTTPS API, and a composition of the two. */
function invitation(port: number): string {
  const uri = port === 4480 ? "agtp://localhost" : `agtp://localhost:${port}`;
  const stay = { guest_name: "Ada", arrival: "2030-05-04", departure: "2030-05-06", guests: 2 };
  const reservation = "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42";
  const calls = [
    ["BOOK /rooms/double", stay],
    ["CREATE /orders", { reservation_id: reservation, item: "flowers" }],
    ["RESERVE /stays", { room_type: "suite", ...stay, welcome_item: "champagne" }],
    ["FIND /city/events", { from: stay.arrival, until: stay.departure }],
  ] as const;
  const commands = calls.map(
    ([pair, input]) =>
      `  node dist/tools/agtp.js ${uri} ${pair} --agent-id ${CONCIERGE} -d '${JSON.stringify(input)}'`,
  );
  return ["", "Try, in another terminal in this directory:", "", ...commands, ""].join("\n");
}

await main();
