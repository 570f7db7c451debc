/** A session is suspended on one node, and resumed on all nodes at the same time. */
import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "../../../src/identity/uuid.ts";
import { someWorker } from "./call-lanes.ts";
import type { Clients } from "./clients.ts";
import { between, pick } from "./random.ts";
import type { Request } from "./request.ts";

/** Handles one session after the other. */
export async function resumeOnce(clients: Clients): Promise<void> {
  const { random } = clients;
  const callers = clients.callers();
  while (!clients.isOver) {
    const agent = someWorker(random);
    const told = await pick(random, callers).ask(suspension(agent));
    const result = told?.body["result"] as { readonly resumption_nonce?: string } | undefined;
    const key = result?.resumption_nonce;
    if (key !== undefined) {
      await Promise.all(callers.map((caller) => caller.ask(resumption(agent, key))));
    }
    await delay(between(random, 20, 200));
  }
}

function suspension(agent: string): Request {
  const body = { session_id: uuidv7(), reason: "awaiting_input", checkpoint: { step: 1 } };
  return { kind: "suspend", agent, method: "SUSPEND", path: "/", body };
}

function resumption(agent: string, key: string): Request {
  const body = { resumption_nonce: key };
  return { kind: "resume", agent, method: "RESUME", path: "/", body, key };
}
