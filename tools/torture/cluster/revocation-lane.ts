/** Agents call every node in turn, are revoked on one of them, and go on calling. */
import { setTimeout as delay } from "node:timers/promises";
import { call } from "./call-lanes.ts";
import type { Clients } from "./clients.ts";
import { agentId, VICTIMS, WORKERS } from "./deployment.ts";
import { between } from "./random.ts";
import type { Request } from "./request.ts";

/** How long a revoked agent goes on calling after the answer to its revocation. */
const AFTER_MS = 1_500;

/** Revokes one agent after the other. */
export async function revokeOneByOne(clients: Clients): Promise<void> {
  const callers = clients.callers();
  const revokers = clients.callers();
  for (let victim = WORKERS; victim < WORKERS + VICTIMS && !clients.isOver; victim += 1) {
    const agent = agentId(victim);
    let isDone = false;
    const calls = callers.map(async (caller) => {
      while (!isDone) {
        await caller.ask(call(agent));
        await delay(5);
      }
    });
    await delay(between(clients.random, 50, 600));
    await clients.until(revokers, revocation(agent), ({ asked }) => asked.status === 200);
    const until = performance.now() + AFTER_MS;
    while (!clients.isOver && performance.now() < until) await delay(20);
    isDone = true;
    await Promise.all(calls);
  }
}

function revocation(agent: string): Request {
  const body = { agent_id: agent, reason: "torture" };
  return { kind: "revoke", agent, method: "REVOKE", path: "/", body, key: agent };
}
