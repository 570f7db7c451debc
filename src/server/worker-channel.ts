/** The worker's ends of its link and channel to the parent. */
import { Socket } from "node:net";
import { type FaultCodec, Link } from "../base/link.ts";
import { emitShared } from "./node-sockets.ts";
import type { Passing, PortHandle } from "./shared-port.ts";
import { WorkerPort, type WorkerPortOptions } from "./worker-port.ts";
import { LINK_DESCRIPTOR, stopReading } from "./worker-process.ts";

export interface WorkerChannel {
  readonly link: Link;
  /** Joins the daemon's shared port. */
  openPort(options: Omit<WorkerPortOptions, "pass" | "tell">): WorkerPort;
  /** Resolves once the parent is gone. */
  readonly abandoned: Promise<void>;
}

/** Opens the link and channel to the parent process. */
export function openWorkerChannel(codec: FaultCodec): WorkerChannel {
  const socket = new Socket({ fd: LINK_DESCRIPTOR, readable: true, writable: true });
  emitShared(socket);
  const link = new Link(socket, codec);
  const disconnected = new Promise<void>((resolve) => {
    process.once("disconnect", () => resolve());
  });
  return {
    link,
    abandoned: Promise.race([link.closed, disconnected]),
    openPort: (options) => {
      const port = new WorkerPort({ ...options, pass, tell: (count) => link.tell("has", count) });
      link.serve({
        least: (count: number | null) => port.hear(count ?? undefined),
        full: (network: string | null) => port.hearFull(network ?? undefined),
      });
      process.on("message", (message: unknown, handle: unknown) => {
        if (message === "listen") port.listen(handle as PortHandle);
        else if (handle instanceof Socket) port.hand(handle, message as Passing);
      });
      return port;
    },
  };
}

/** Passes a socket to the parent; closes it on failure. */
function pass(socket: Socket, passing: Passing): void {
  stopReading(socket);
  process.send?.(passing, socket, { keepOpen: false }, (error) => {
    if (error !== null) socket.destroy();
  });
}
