/** The faults that a cluster is exposed to, each for a limited time, with its repair. */
import { setTimeout as delay } from "node:timers/promises";
import { now } from "./caller.ts";
import type { Database } from "./database.ts";
import type { CutOff, Failover } from "./history.ts";
import type { Node } from "./node.ts";
import { Patience } from "./patience.ts";
import { between, pick, type Random } from "./random.ts";

/** The cluster under test. */
export interface Scene {
  readonly nodes: readonly Node[];
  readonly database: Database;
  readonly leaseMs: number;
  readonly cutOffs: CutOff[];
  readonly failovers: Failover[];
}

/** One kind of fault; `random` determines its duration and target. */
export type Fault = (scene: Scene, random: Random) => Promise<string | undefined>;

/** The time for a node to end after its store went back: its drain timeout, plus six seconds for a silent store. */
const LOSS_MS = 16_000;
/** A node checks the acknowledged records within about a second. */
const ASKED_MS = 2_500;
const LOOK_MS = 100;

async function killNode({ nodes }: Scene, random: Random): Promise<undefined> {
  const node = pick(random, nodes);
  await node.end("SIGKILL");
  await delay(between(random, 0, 1_000));
  await node.start();
}

async function stopNode({ nodes, leaseMs }: Scene, random: Random): Promise<undefined> {
  const node = pick(random, nodes);
  node.signal("SIGSTOP");
  await delay(between(random, 100, 3 * leaseMs));
  node.signal("SIGCONT");
}

function cutLink(state: "cut" | "half-open"): Fault {
  return async ({ nodes, leaseMs, cutOffs }, random) => {
    const node = pick(random, nodes);
    node.link.set(state);
    const from = now();
    await delay(between(random, 50, 3 * leaseMs));
    const until = now();
    node.link.set("open");
    cutOffs.push({ node: node.name, from, until });
    return undefined;
  };
}

async function slowLink({ nodes }: Scene, random: Random): Promise<undefined> {
  const node = pick(random, nodes);
  node.link.slow(between(random, 20, 700));
  await delay(between(random, 300, 3_000));
  node.link.slow(0);
}

async function stopDatabase({ database }: Scene, random: Random): Promise<undefined> {
  await database.crash();
  await delay(between(random, 0, 2_500));
  await database.start();
}

async function endBackends({ database }: Scene, random: Random): Promise<undefined> {
  for (let count = between(random, 1, 10); count > 0; count -= 1) {
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'agtpd' AND random() < 0.7`,
    );
    await delay(between(random, 10, 100));
  }
}

async function stepClock({ nodes }: Scene, random: Random): Promise<undefined> {
  pick(random, nodes).stepClock(between(random, -60_000, 40_000));
}

/** Waits until a node has compared the database with its acknowledged records, and has reported the missing ones. */
async function untilAsked(node: Node): Promise<void> {
  const patience = new Patience(ASKED_MS, () => node.pid);
  while (!node.wentBack && !patience.isOver) await delay(LOOK_MS);
}

/** Promotes a standby that has not received everything. */
async function failOver(scene: Scene, random: Random): Promise<string | undefined> {
  const { nodes, database, failovers } = scene;
  await database.addStandby();
  await delay(between(random, 100, 500));
  if (random() < 0.7) database.leaveStandbyBehind();
  await delay(between(random, 50, 600));
  await database.promote();
  for (const { link } of nodes) link.lead(database.socket);
  const at = now();
  await Promise.all(nodes.map((node) => untilAsked(node)));
  const told = nodes.filter(({ wentBack }) => wentBack);
  // The failover counts as a loss, whether or not nodes notice.
  failovers.push({ at, told: told.map(({ name }) => name) });
  for (const node of told) {
    if (!(await node.ended(LOSS_MS))) return `node ${node.name} goes on after the store went back`;
    await node.acceptLoss();
    if (!(await node.start()))
      return `node ${node.name} does not start after its loss was accepted`;
  }
  return undefined;
}

/** Faults by name, with their relative frequency. */
export const FAULTS: Readonly<Record<string, { readonly weight: number; readonly run: Fault }>> = {
  "kill-node": { weight: 4, run: killNode },
  "stop-node": { weight: 4, run: stopNode },
  "cut-link": { weight: 4, run: cutLink("cut") },
  "half-open-link": { weight: 4, run: cutLink("half-open") },
  "slow-link": { weight: 3, run: slowLink },
  "stop-database": { weight: 3, run: stopDatabase },
  "end-backends": { weight: 3, run: endBackends },
  "step-clock": { weight: 2, run: stepClock },
  "fail-over": { weight: 1, run: failOver },
};

/** Picks the next fault. */
export function nextFault(random: Random): string {
  const names = Object.entries(FAULTS).flatMap(([name, { weight }]) =>
    Array.from({ length: weight }, () => name),
  );
  return pick(random, names);
}
