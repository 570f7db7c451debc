/** The clients of a cluster: what they ask for, again and again, until they are told to stop. */

import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "../../../src/identity/uuid.ts";
import { Caller, type Request, type Told } from "./caller.ts";
import { agentId, VICTIMS, WORKERS } from "./deployment.ts";
import type { Asked } from "./history.ts";
import type { Node } from "./node.ts";
import { between, pick, type Random } from "./random.ts";

const LANES = 2;
const KEYS_AGAIN = 0.5;
/** How long a revoked agent is asked for once its revocation was answered. */
const AFTER_REVOKE_MS = 1_500;

/** The clients; all their notes go to `note`. */
export class Workload {
  readonly #nodes: readonly Node[];
  readonly #random: Random;
  readonly #note: (asked: Asked) => void;
  readonly #callers: Caller[] = [];
  /** Keys whose outcome somebody does not know. */
  #open: string[] = [];
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(nodes: readonly Node[], random: Random, note: (asked: Asked) => void) {
    this.#nodes = nodes;
    this.#random = random;
    this.#note = note;
  }

  start(): void {
    const lanes = this.#nodes.flatMap((node) =>
      Array.from({ length: LANES }, () => this.#workers(this.#caller(node))),
    );
    this.#running = Promise.all([...lanes, this.#nonces(), this.#revocations()]);
  }

  /** Waits until all of them have stopped. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    for (const caller of this.#callers) caller.close();
  }

  #caller(node: Node): Caller {
    const caller = new Caller(node, this.#note);
    this.#callers.push(caller);
    return caller;
  }

  /** Calls and effects of the agents that go on to the end. */
  async #workers(caller: Caller): Promise<void> {
    while (!this.#isOver) {
      const agent = agentId(between(this.#random, 0, WORKERS - 1));
      const told = await caller.ask(this.#random() < 0.6 ? call(agent) : this.#effect());
      if (told?.asked.kind === "effect" && told.asked.status !== 200) {
        this.#open.push(String(told.asked.key));
      }
      await delay(told === undefined ? 50 : between(this.#random, 1, 8));
    }
  }

  /** A new key, or one that somebody has tried: a key is its agent's own. */
  #effect(): Request {
    const known = this.#random() < KEYS_AGAIN ? this.#open.shift() : undefined;
    const index = between(this.#random, 0, WORKERS - 1);
    const key = known ?? `${index}-${uuidv7()}`;
    const agent = agentId(Number.parseInt(key, 10));
    return { kind: "effect", agent, method: "RESERVE", path: "/rooms", body: { key }, key };
  }

  /** A session is suspended on one node, and resumed on all of them at the same time. */
  async #nonces(): Promise<void> {
    const callers = this.#nodes.map((node) => this.#caller(node));
    while (!this.#isOver) {
      const agent = agentId(between(this.#random, 0, WORKERS - 1));
      const told = await pick(this.#random, callers).ask(suspension(agent));
      const result = told?.body["result"] as { readonly resumption_nonce?: string } | undefined;
      const key = result?.resumption_nonce;
      if (key !== undefined) {
        const body = { resumption_nonce: key };
        const resumption = {
          kind: "resume",
          agent,
          method: "RESUME",
          path: "/",
          body,
          key,
        } as const;
        await Promise.all(callers.map((caller) => caller.ask(resumption)));
      }
      await delay(between(this.#random, 20, 200));
    }
  }

  /** One agent after the other calls every node, is revoked on one of them, and goes on calling. */
  async #revocations(): Promise<void> {
    const callers = this.#nodes.map((node) => this.#caller(node));
    const revoker = this.#nodes.map((node) => this.#caller(node));
    for (let victim = WORKERS; victim < WORKERS + VICTIMS && !this.#isOver; victim += 1) {
      const agent = agentId(victim);
      let isDone = false;
      const calls = callers.map(async (caller) => {
        while (!isDone) {
          await caller.ask(call(agent));
          await delay(5);
        }
      });
      await delay(between(this.#random, 50, 600));
      await this.#revoke(revoker, agent);
      const until = performance.now() + AFTER_REVOKE_MS;
      while (!this.#isOver && performance.now() < until) await delay(20);
      isDone = true;
      await Promise.all(calls);
    }
  }

  async #revoke(callers: readonly Caller[], agent: string): Promise<void> {
    const body = { agent_id: agent, reason: "torture" };
    const request = {
      kind: "revoke",
      agent,
      method: "REVOKE",
      path: "/",
      body,
      key: agent,
    } as const;
    while (!this.#isOver) {
      const told: Told | undefined = await pick(this.#random, callers).ask(request);
      if (told?.asked.status === 200) return;
      await delay(50);
    }
  }
}

function call(agent: string): Request {
  return { kind: "call", agent, method: "QUERY", path: "/lists" };
}

function suspension(agent: string): Request {
  const body = { session_id: uuidv7(), reason: "awaiting_input", checkpoint: { step: 1 } };
  return { kind: "suspend", agent, method: "SUSPEND", path: "/", body };
}
