/** Calls and effects of the agents that are never revoked, by two clients for each node. */
import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "../../../src/identity/uuid.ts";
import type { Caller } from "./caller.ts";
import type { Clients } from "./clients.ts";
import { agentId, WORKERS } from "./deployment.ts";
import { between, type Random } from "./random.ts";
import type { Request } from "./request.ts";

const A_NODE = 2;
const CALLS = 0.6;
const KEYS_AGAIN = 0.5;
/** The probability that a finished key is tried again. */
const DONE_AGAIN = 0.1;

/** Keys are shared between nodes, so that one repeats what another began. */
export async function callAgain(clients: Clients): Promise<void> {
  const keys: string[] = [];
  const callers = clients.nodes.flatMap((node) =>
    Array.from({ length: A_NODE }, () => clients.caller(node)),
  );
  await Promise.all(callers.map((caller) => callThrough(caller, clients, keys)));
}

/** A call without an effect. */
export function call(agent: string): Request {
  return { kind: "call", agent, method: "QUERY", path: "/lists" };
}

/** An agent that is never revoked. */
export function someWorker(random: Random): string {
  return agentId(between(random, 0, WORKERS - 1));
}

async function callThrough(caller: Caller, clients: Clients, keys: string[]): Promise<void> {
  const { random } = clients;
  while (!clients.isOver) {
    const isCall = random() < CALLS;
    const told = await caller.ask(isCall ? call(someWorker(random)) : effect(random, keys));
    const { kind, key, status } = told?.asked ?? {};
    if (kind === "effect" && (status !== 200 || random() < DONE_AGAIN)) keys.push(String(key));
    await delay(told === undefined ? 50 : between(random, 1, 8));
  }
}

/** An effect with a new key, or with a key that was tried before; the key determines its agent. */
function effect(random: Random, keys: string[]): Request {
  const known = random() < KEYS_AGAIN ? keys.shift() : undefined;
  const key = known ?? `${between(random, 0, WORKERS - 1)}-${uuidv7()}`;
  const agent = agentId(Number.parseInt(key, 10));
  const request = { method: "RESERVE", path: "/rooms", body: { key }, key, saidIn: "reserved" };
  return { kind: "effect", agent, ...request };
}
