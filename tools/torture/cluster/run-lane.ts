/** Runs of a workflow are begun on one node, and looked at on any until they have ended. */
import { setTimeout as delay } from "node:timers/promises";
import { someWorker } from "./call-lanes.ts";
import type { Caller } from "./caller.ts";
import type { Clients } from "./clients.ts";
import { WORKFLOW } from "./deployment-files.ts";
import { isEnd } from "./history.ts";
import { between, pick } from "./random.ts";
import type { Request } from "./request.ts";

const LANES = 3;
/** How long a run may take, and the cluster to take it over, before nobody looks any more. */
const PATIENCE_MS = 30_000;

/** One run after the other; those that are begun are waited for also when all is over. */
export async function runToTheEnd(clients: Clients): Promise<void> {
  const lanes = Array.from({ length: LANES }, async () => {
    const callers = clients.callers();
    while (!clients.isOver) {
      const agent = someWorker(clients.random);
      const begun = await pick(clients.random, callers).ask(beginning(agent));
      const { status, key } = begun?.asked ?? {};
      if (status === 202 && key !== undefined) await watch(clients, callers, standing(agent, key));
      await delay(between(clients.random, 20, 200));
    }
  });
  await Promise.all(lanes);
}

/** Looks until the run has ended, or is not known any more: a failover may have lost it. */
async function watch(
  { random }: Clients,
  callers: readonly Caller[],
  look: Request,
): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const { status, said } = (await pick(random, callers).ask(look))?.asked ?? {};
    if (status === 404 || isEnd(said)) return;
    await delay(between(random, 50, 250));
  }
}

function beginning(agent: string): Request {
  const body = { workflowId: WORKFLOW };
  return { kind: "run", agent, method: "EXECUTE", path: "/runs", body, keyIn: "runId" };
}

function standing(agent: string, key: string): Request {
  return { kind: "look", agent, method: "QUERY", path: `/runs/${key}`, key, saidIn: "status" };
}
