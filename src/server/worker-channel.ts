/** The ends of a worker's link and channel within the worker itself. */
import { Socket } from "node:net";
import { type FaultCodec, Link } from "../base/link.ts";
import { emitShared } from "./node-sockets.ts";
import type { Passing, PortHandle } from "./shared-port.ts";
import { WorkerPort, type WorkerPortOptions } from "./worker-port.ts";
import { LINK_DESCRIPTOR, stopReading } from "./worker-process.ts";

export interface WorkerChannel {
  readonly link: Link;
  /** Takes part in the daemon's port from now on. */
  openPort(options: Omit<WorkerPortOptions, "pass" | "tell">): WorkerPort;
  /** Resolves once the parent is gone. */
  readonly abandoned: Promise<void>;
}

/** Opens the way to the parent of this process. */
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

/** What cannot be passed on is closed. */
function pass(socket: Socket, passing: Passing): void {
  stopReading(socket);
  process.send?.(passing, socket, { keepOpen: false }, (error) => {
    if (error !== null) socket.destroy();
  });
}
