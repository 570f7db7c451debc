/** The clients of a cluster, which repeat their requests until they are stopped. */
import { bookOnce } from "./approval-lane.ts";
import { callAgain } from "./call-lanes.ts";
import { Clients, type Lane } from "./clients.ts";
import { resumeOnce } from "./nonce-lane.ts";
import { revokeOneByOne } from "./revocation-lane.ts";
import { runToTheEnd } from "./run-lane.ts";

const LANES: readonly Lane[] = [callAgain, resumeOnce, bookOnce, runToTheEnd, revokeOneByOne];

/** The clients of every lane. */
export class Workload {
  readonly #clients: Clients;
  #running: Promise<unknown> = Promise.resolve();

  constructor(...surroundings: ConstructorParameters<typeof Clients>) {
    this.#clients = new Clients(...surroundings);
  }

  start(): void {
    this.#running = Promise.all(LANES.map((lane) => lane(this.#clients)));
  }

  /** Waits until every client has stopped. */
  async stop(): Promise<void> {
    this.#clients.isOver = true;
    await this.#running;
    this.#clients.close();
  }
}
