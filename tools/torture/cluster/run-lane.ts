/** Runs of a workflow are started on one node, and queried on any node until they have ended. */
import { setTimeout as delay } from "node:timers/promises";
import { someWorker } from "./call-lanes.ts";
import type { Caller } from "./caller.ts";
import type { Clients } from "./clients.ts";
import { WORKFLOW } from "./deployment-files.ts";
import { isEnd } from "./history.ts";
import { between, pick } from "./random.ts";
import type { Request } from "./request.ts";

const LANES = 3;
/** The time for a run, with a takeover by another node, before queries stop. */
const PATIENCE_MS = 30_000;

/** Starts one run after the other; started runs are awaited even after the end of the load. */
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

/** Queries a run until it has ended or is unknown: a failover may have lost it. */
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
