/** Operational faults: power cuts, repeated reloads, and clock steps. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agtpRequest, benchAgentId } from "../bench/order.ts";
import { type Arena, type Attack, ask, inParallel, knock } from "./attack.ts";
import { STEPPING_CLOCK } from "./stepping-clock.ts";

const ORDER = agtpRequest("CREATE", "/orders/00000");
const KEYS = fileURLToPath(new URL("../agtp-keys.js", import.meta.url));

/** Kills the daemon while it writes; acknowledged records have to be in intact chains. */
export const kill9: Attack = {
  name: "kill-9",
  isRestarting: true,
  async run(arena) {
    await beginChain(arena);
    const load = inParallel(arena, 8, (socket) => ask(socket, ORDER));
    let fault: string | undefined;
    while (arena.goesOn() && fault === undefined) {
      await delay(200 + Math.random() * 800);
      await arena.victim.end("SIGKILL");
      fault = await walkChains(arena);
      await arena.victim.start();
    }
    await load;
    await arena.victim.end("SIGTERM");
    fault ??= await walkChains(arena);
    await arena.victim.start();
    return fault;
  },
};

/** Reloads the configuration during a reload. */
export const reloads: Attack = {
  name: "reloads",
  async run(arena) {
    const load = inParallel(arena, 4, (socket) => ask(socket, ORDER));
    while (arena.goesOn()) {
      arena.victim.signal("SIGHUP");
      await delay(Math.random() * 20);
    }
    await load;
    return undefined;
  },
};

/** Steps the clock by up to a minute in both directions; times in a chain must never decrease. */
export const clockSteps: Attack = {
  name: "clock-steps",
  isRestarting: true,
  options: { preload: STEPPING_CLOCK },
  async run(arena) {
    await beginChain(arena);
    const load = inParallel(arena, 4, (socket) => ask(socket, ORDER));
    while (arena.goesOn()) {
      arena.victim.tell({ stepMs: Math.round((Math.random() - 0.6) * 60_000) });
      await delay(100);
    }
    await load;
    await arena.victim.end("SIGTERM");
    const fault = await walkChains(arena);
    await arena.victim.start();
    return fault;
  },
};

/** Places one order, because there is no chain before the first answer. */
async function beginChain(arena: Arena): Promise<void> {
  const socket = await knock(arena);
  if (socket !== undefined) await ask(socket, ORDER);
  socket?.destroy();
}

/** Verifies the chain of the agent that placed the orders. */
async function walkChains({ directory }: Arena): Promise<string | undefined> {
  const journal = join(directory, ".agtp", "journal");
  const args = ["verify", "--chain", journal, "--agent", benchAgentId(0)];
  try {
    await promisify(execFile)(process.execPath, [
      KEYS,
      ...args,
      "--key",
      join(directory, "signing.pem"),
    ]);
    return undefined;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `the chain does not hold: ${(stdout + stderr).trim().split("\n").at(-1)}`;
  }
}
