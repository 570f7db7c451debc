/** Exposes a cluster to one fault after the other, and checks its recovery from each. */
import { setTimeout as delay } from "node:timers/promises";
import { Caller } from "./caller.ts";
import type { ClusterOptions } from "./cluster.ts";
import { agentId } from "./deployment.ts";
import { FAULTS, nextFault, type Scene } from "./faults.ts";
import type { Asked } from "./history.ts";
import { Patience } from "./patience.ts";
import { between, seeded } from "./random.ts";

/** The time in which the cluster has to recover. */
const RECOVERY_MS = 40_000;

/** Runs one fault after the other; in between, every node has to serve. */
export async function expose(
  scene: Scene,
  { seed, seconds, faults, plan, say }: ClusterOptions,
  note: (asked: Asked) => void,
): Promise<{ readonly count: number; readonly fault: string | undefined }> {
  const random = seeded(seed);
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  let fault = await recover(scene, note);
  while (fault === undefined && count < faults && performance.now() < end) {
    const name = plan?.[count % plan.length] ?? nextFault(random);
    count += 1;
    say(`${String(count).padStart(4)} ${name}`);
    fault = await FAULTS[name]?.run(scene, random);
    fault ??= await recover(scene, note);
    await delay(between(random, 100, 500));
  }
  return { count, fault };
}

/** Waits until every node serves; returns a description of one that does not. */
async function recover(
  { nodes }: Scene,
  note: (asked: Asked) => void,
): Promise<string | undefined> {
  for (const node of nodes) {
    const patience = new Patience(RECOVERY_MS, () => node.pid);
    const caller = new Caller(node, note);
    for (;;) {
      if (node.unwantedEnd !== undefined) return node.unwantedEnd;
      const request = { kind: "call", method: "QUERY", path: "/lists" } as const;
      const told = await caller.ask({ ...request, agent: agentId(0) });
      if (told?.asked.status === 200) break;
      if (patience.isOver) return `node ${node.name} does not serve again`;
      await delay(50);
    }
    caller.close();
  }
  return undefined;
}
