/** The interface of an attack, and its means. */
import { once } from "node:events";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Victim, VictimOptions } from "./victim.ts";

/** The environment of an attack. */
export interface Arena {
  readonly victim: Victim;
  /** The directory of the deployment. */
  readonly directory: string;
  /** Returns true while there is time for another round. */
  goesOn(): boolean;
  /** Counts one unit of the attack. */
  count(): void;
}

/** One kind of attack. */
export interface Attack {
  readonly name: string;
  readonly options?: VictimOptions;
  /** True if the attack restarts the daemon, so that an unreachable daemon does not end it. */
  readonly isRestarting?: boolean;
  /** Runs until the time is over; returns the daemon's fault, if there is one. */
  run(arena: Arena): Promise<string | undefined>;
}

/** Opens a connection and ignores its errors; undefined if it is refused. */
export async function knock(
  { victim }: Arena,
  options: ConnectionOptions & { readonly localAddress?: string } = {},
): Promise<TLSSocket | undefined> {
  const { port } = victim;
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
  socket.on("error", () => undefined);
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]).catch(() => undefined);
  return socket.destroyed ? undefined : socket;
}

/** Sends a request, and waits for the first octets of the answer or the end of the connection. */
export function ask(socket: TLSSocket, request: Buffer | string): Promise<string> {
  return new Promise((resolve) => {
    const settle = (chunk?: Buffer): void => {
      socket.off("data", settle).off("close", closed);
      resolve(chunk?.toString("latin1") ?? "");
    };
    const closed = (): void => settle();
    if (socket.destroyed) closed();
    else {
      socket.on("data", settle).on("close", closed);
      socket.write(request);
    }
  });
}

/** A request without an identity. */
export function strangersRequest(method: string, path: string, body = ""): string {
  return `AGTP/1.0 ${method} ${path}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Runs the same on several connections at once, each in rounds until the time is over. */
export async function inParallel(
  arena: Arena,
  width: number,
  round: (socket: TLSSocket) => Promise<unknown>,
): Promise<void> {
  const lane = async (): Promise<void> => {
    let socket: TLSSocket | undefined;
    while (arena.goesOn()) {
      if (socket === undefined || socket.destroyed) socket = await knock(arena);
      if (socket === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      else await round(socket).then(() => arena.count());
    }
    socket?.destroy();
  };
  await Promise.all(Array.from({ length: width }, lane));
}
