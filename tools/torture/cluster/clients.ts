/** The context of a cluster's clients: its nodes, random numbers, and the stop signal. */
import { setTimeout as delay } from "node:timers/promises";
import { Caller, type Told } from "./caller.ts";
import type { Asked } from "./history.ts";
import type { Node } from "./node.ts";
import type { Operator } from "./operator.ts";
import { pick, type Random } from "./random.ts";
import type { Request } from "./request.ts";

/** A client that sends requests until `isOver`. */
export type Lane = (clients: Clients) => Promise<unknown>;

/** Creates clients; every record goes to `note`. */
export class Clients {
  readonly nodes: readonly Node[];
  readonly random: Random;
  readonly #note: (asked: Asked) => void;
  readonly #operator: Operator;
  readonly #callers: Caller[] = [];
  /** True once no new work may begin. */
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

  /** A client for each node. */
  callers(): readonly Caller[] {
    return this.nodes.map((node) => this.caller(node));
  }

  /** A client for each node, with the operator's certificate. */
  operators(): readonly Caller[] {
    const { connection } = this.#operator;
    return this.nodes.map((node) => this.#keep(new Caller(node, this.#note, connection)));
  }

  /** Sends a request to one node after another until one answers with a wanted status, or the run is over. */
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
