/** The ends of a worker's link and channel within the worker itself. */
import { Socket } from "node:net";
import { type FaultCodec, Link } from "../base/link.ts";
import { LINK_DESCRIPTOR } from "./worker-process.ts";

/** The way to the parent. */
export interface WorkerChannel {
  readonly link: Link;
  /** Takes the connections that the parent hands over from now on; their ends are told to it. */
  takeSockets(take: (socket: Socket) => void): void;
  /** Resolves once the parent is gone. */
  readonly abandoned: Promise<void>;
}

/** Opens the way to the parent of this process. */
export function openWorkerChannel(codec: FaultCodec): WorkerChannel {
  const link = new Link(new Socket({ fd: LINK_DESCRIPTOR, readable: true, writable: true }), codec);
  const disconnected = new Promise<void>((resolve) => {
    process.once("disconnect", () => resolve());
  });
  return {
    link,
    abandoned: Promise.race([link.closed, disconnected]),
    takeSockets: (take) => {
      process.on("message", (id: unknown, socket: unknown) => {
        if (typeof id !== "number") return;
        const release = (): void => link.tell("released", id);
        // Its peer may be gone already.
        if (!(socket instanceof Socket)) return release();
        socket.once("close", release);
        take(socket);
      });
    },
  };
}
