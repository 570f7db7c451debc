/** The link between a node and its database, which can be cut, slowed down, or left half open. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What passes: all, nothing and everybody hears of it, or nothing and nobody does. */
export type LinkState = "open" | "cut" | "half-open";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** A proxy on a port of its own to a Unix socket. */
export class Link {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target: string;
  #state: LinkState = "open";
  #delayMs = 0;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: false }, (client) => this.#take(client));
  }

  static async open(target: string): Promise<Link> {
    const link = new Link(target);
    link.#server.listen(0, "127.0.0.1");
    await once(link.#server, "listening");
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Leads to another server from now on; what is open ends. */
  lead(target: string): void {
    this.#target = target;
    this.#endAll();
  }

  set(state: LinkState): void {
    this.#state = state;
    // What was held back would tell of another time.
    if (state === "cut") this.#endAll();
    if (state === "open") this.#endAll();
  }

  /** Every octet is so late from now on, either way. */
  slow(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  close(): void {
    this.#endAll();
    this.#server.close();
  }

  #endAll(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  #take(client: Socket): void {
    if (this.#state === "cut") {
      client.on("error", () => undefined);
      client.resetAndDestroy();
      return;
    }
    const pair = { client, server: connect(this.#target) };
    this.#pairs.add(pair);
    this.#pass(pair.client, pair.server);
    this.#pass(pair.server, pair.client);
    for (const socket of [pair.client, pair.server]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        if (this.#state !== "half-open") {
          pair.client.destroy();
          pair.server.destroy();
        }
        this.#pairs.delete(pair);
      });
    }
  }

  #pass(from: Socket, to: Socket): void {
    from.on("data", (chunk: Buffer) => {
      if (this.#state !== "open") return;
      if (this.#delayMs === 0) to.write(chunk);
      else setTimeout(() => this.#state === "open" && to.write(chunk), this.#delayMs);
    });
  }
}
