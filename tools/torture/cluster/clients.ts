/** The surroundings of the clients of a cluster: its nodes, chance, and when they are to stop. */
import { setTimeout as delay } from "node:timers/promises";
import { Caller, type Told } from "./caller.ts";
import type { Asked } from "./history.ts";
import type { Node } from "./node.ts";
import type { Operator } from "./operator.ts";
import { pick, type Random } from "./random.ts";
import type { Request } from "./request.ts";

/** A client that asks again and again until `isOver`. */
export type Lane = (clients: Clients) => Promise<unknown>;

/** All notes go to `note`. */
export class Clients {
  readonly nodes: readonly Node[];
  readonly random: Random;
  readonly #note: (asked: Asked) => void;
  readonly #operator: Operator;
  readonly #callers: Caller[] = [];
  /** True once nobody begins anything more. */
  isOver = false;

  constructor(
    nodes: readonly Node[],
    random: Random,
    { note, operator }: { readonly operator: Operator; note(asked: Asked): void },
  ) {
    this.nodes = nodes;
    this.random = random;
    this.#note = note;
    this.#operator = operator;
  }

  /** A client of one node. */
  caller(node: Node): Caller {
    return this.#keep(new Caller(node, this.#note));
  }

  /** One for each node. */
  callers(): readonly Caller[] {
    return this.nodes.map((node) => this.caller(node));
  }

  /** One for each node, all of them the operator's. */
  operators(): readonly Caller[] {
    const { connection } = this.#operator;
    return this.nodes.map((node) => this.#keep(new Caller(node, this.#note, connection)));
  }

  /** Asks some node, and another, until one answers with the status that is meant, or all is over. */
  async until(
    callers: readonly Caller[],
    request: Request,
    isMeant: (told: Told) => boolean,
  ): Promise<Told | undefined> {
    while (!this.isOver) {
      const told = await pick(this.random, callers).ask(request);
      if (told !== undefined && isMeant(told)) return told;
      await delay(50);
    }
    return undefined;
  }

  close(): void {
    for (const caller of this.#callers) caller.close();
  }

  #keep(caller: Caller): Caller {
    this.#callers.push(caller);
    return caller;
  }
}
