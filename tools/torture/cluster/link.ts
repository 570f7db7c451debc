/** The link between a node and its database, which can be cut, slowed down, or left half open. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The state of a link: data passes, is refused with closed connections, or is dropped silently. */
type LinkState = "open" | "cut" | "half-open";

/** A TCP proxy to a Unix socket. */
export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: string;
  #state: LinkState = "open";
  #delayMs = 0;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((client) => this.#take(client));
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

  /** Switches to another server, and closes open connections. */
  lead(target: string): void {
    this.#target = target;
    this.#endAll();
  }

  /** Sets the state; on reopening, earlier connections are closed, because they have lost octets. */
  set(state: LinkState): void {
    this.#state = state;
    if (state !== "half-open") this.#endAll();
  }

  /** Delays every octet by this time, in both directions. */
  slow(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  close(): void {
    this.#endAll();
    this.#server.close();
  }

  #endAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #take(client: Socket): void {
    if (this.#state === "cut") {
      client.on("error", () => undefined);
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target);
    this.#pass(client, server);
    this.#pass(server, client);
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    // Kept in order, even if the delay has become shorter.
    const waiting: Buffer[] = [];
    from.on("data", (chunk: Buffer) => {
      if (this.#state !== "open") return;
      if (this.#delayMs === 0 && waiting.length === 0) {
        to.write(chunk);
        return;
      }
      waiting.push(chunk);
      setTimeout(() => {
        const next = waiting.shift();
        if (next !== undefined && this.#state === "open") to.write(next);
      }, this.#delayMs);
    });
    from.on("error", () => undefined);
    from.on("close", () => {
      this.#sockets.delete(from);
      if (this.#state !== "half-open") to.destroy();
    });
  }
}
