#!/usr/bin/env node
/**
 * `npm start`: runs the sample deployment in the project's root with the order desk it calls, and
 * prints a few commands to try. An operator's own deployment only needs `agtpd`.
 */
import { fileURLToPath } from "node:url";
import type { Daemon } from "../src/app/daemon.ts";
import { createLog, openStdout } from "../src/base/log.ts";
import { formatProblem } from "../src/base/problem.ts";
import { command } from "../src/programs/shell/command.ts";
import { ignoreDebugger } from "./daemon-signals.ts";
import { runHere } from "./process-terminal.ts";
import { startSample } from "./sample.ts";

/** The agent of agents/concierge.agent.json. */
const CONCIERGE = "236cd4fdff74c17d27aa23919b929553712401ad5cc44eab5071d2c574ea0ccb";

const ROOT = new URL("../../", import.meta.url);

async function start(): Promise<boolean> {
  const log = createLog("info", openStdout());
  const tell = (line: string) => console.error(line);
  const result = await startSample({ root: fileURLToPath(ROOT), env: process.env, log, tell });
  if (result.kind === "refused") {
    for (const problem of result.problems) console.error(formatProblem(problem));
    await log.flush();
    return false;
  }
  stopOnSignal(result.daemon, result.close);
  console.error(invitation(result.daemon.port));
  return true;
}

/** SIGHUP reloads, as with `agtpd`; the other two signals drain and end, like `agtpd stop`. */
function stopOnSignal(daemon: Daemon, closeDesk: () => Promise<void>): void {
  ignoreDebugger();
  void daemon.ended.then(closeDesk).then(() => process.exit(0));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Ctrl-C signals the whole process group, and npm passes it on again: the second one is ignored.
    process.on(signal, () => void daemon.drain());
  }
  process.on("SIGHUP", () => {
    daemon.reload().catch((error: unknown) => console.error("nothing changed:", error));
  });
}

/** Example calls: a function, an existing HTTPS API, and a composition of the two. */
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

await runHere(
  command({
    name: "start",
    description: "serves the sample, a hotel with an order desk, until it is stopped",
    run: start,
  }),
);
