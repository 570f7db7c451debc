/**
 * A call waits for the operator on one node, is approved on another, and is made on all nodes at
 * the same time: the approval is valid for one call. Unanswered calls are repeated.
 */
import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "../../../src/identity/uuid.ts";
import { someWorker } from "./call-lanes.ts";
import type { Clients } from "./clients.ts";
import { between, pick } from "./random.ts";
import type { Request } from "./request.ts";

/** Makes one call after the other. */
export async function bookOnce(clients: Clients): Promise<void> {
  const { random } = clients;
  const callers = clients.callers();
  const operators = clients.operators();
  while (!clients.isOver) {
    const agent = someWorker(random);
    const room = uuidv7();
    const told = await pick(random, callers).ask(booking(agent, room));
    const escalation = told?.body["escalation_id"];
    if (typeof escalation === "string") {
      const decided = await clients.until(operators, decision(escalation), ({ asked }) =>
        isDecided(asked.status),
      );
      if (decided?.asked.status === 200) {
        const approved = { ...booking(agent, room), kind: "approved", escalation } as const;
        const all = await Promise.all(callers.map((caller) => caller.ask(approved)));
        if (all.some((one) => one?.asked.status !== 200)) {
          await pick(random, callers).ask(approved);
        }
      }
    }
    await delay(between(random, 20, 200));
  }
}

/**
 * Returns true if the decision holds; after a failover the question may be gone, and repeating a
 * decision is no error.
 */
function isDecided(status: number | undefined): boolean {
  return status !== undefined && status !== 503;
}

function booking(agent: string, room: string): Request {
  return { kind: "ask", agent, method: "BOOK", path: `/rooms/${room}`, body: {}, key: room };
}

function decision(escalation: string): Request {
  const body = { target_id: escalation, status: "accepted" };
  return { kind: "decide", method: "CONFIRM", path: "/", body, key: escalation };
}
