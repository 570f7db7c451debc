/**
 * The load generator: connections that each keep a fixed number of requests in flight, or that are
 * reopened for every request, over TLS 1.3 if the target has a certificate. It must cost less than
 * any server it measures, so requests are built beforehand and responses are counted by size, as
 * determined from two responses; each must begin with the expected octets.
 */
import type { Socket } from "node:net";
import { openSocket } from "./open-socket.ts";
import { takeInTurn } from "./request-queue.ts";
import { createResponseCounter, type ExpectedResponses } from "./response-counter.ts";
import type { Tally } from "./tally.ts";

/** The address, the requests to send, and the form of the responses. */
export interface Target extends ExpectedResponses {
  readonly port: number;
  /** The CA certificate; undefined without TLS. */
  readonly ca: string | undefined;
  /** Sent cyclically; connection i of n sends request i and every nth after it. */
  readonly requests: readonly Buffer[];
}

/** The shape of a load: connections, and requests in flight on each. */
export interface Shape {
  readonly connections: number;
  readonly inFlight: number;
  /** True to open a new connection for each request, with a full handshake. */
  readonly fresh?: boolean;
}

/** A running load; `stop` ends it and closes its connections. */
interface Load {
  stop(): void;
  /** Rejects if a connection failed or a response was unexpected. */
  readonly failed: Promise<never>;
}

/** Starts the load; responses are counted in the tally. */
export function startLoad(target: Target, shape: Shape, tally: Tally): Load {
  let stopped = false;
  let fail: (cause: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = (cause) => stopped || reject(cause);
  });
  failed.catch(() => {});
  const sockets = new Set<Socket>();
  const open = (index: number): void => {
    const depth = shape.fresh === true ? 1 : shape.inFlight;
    const goOn = (): boolean => {
      if (shape.fresh !== true) return true;
      sockets.delete(socket);
      socket.destroy();
      if (!stopped) open(index);
      return false;
    };
    const next = takeInTurn(target.requests, depth, { index, connections: shape.connections });
    const socket = openConnection(target, { next, depth, tally, fail, goOn });
    sockets.add(socket);
  };
  for (let index = 0; index < shape.connections; index += 1) open(index);
  const stop = (): void => {
    stopped = true;
    for (const socket of sockets) socket.destroy();
  };
  return { stop, failed };
}

/** The parameters of one connection. */
interface Duty {
  /** Returns this many requests. */
  next(count: number): Buffer;
  /** Requests in flight. */
  readonly depth: number;
  readonly tally: Tally;
  fail(cause: Error): void;
  /** Called after responses; returns true if the same number of requests follows. */
  goOn(): boolean;
}

function openConnection(target: Target, duty: Duty): Socket {
  const { next, depth, tally, fail, goOn } = duty;
  const startedAt = new Float64Array(depth);
  const countResponses = createResponseCounter(target);
  let sent = 0;
  let answered = 0;
  const send = (count: number, now: number): void => {
    for (let i = 0; i < count; i += 1) startedAt[(sent + i) % depth] = now;
    sent += count;
    socket.write(next(count));
  };
  const onBytes = (length: number, buffer: Uint8Array): boolean => {
    const done = countResponses(buffer, length);
    if (done < 0) {
      fail(new Error(`expected "${target.start}", got "${text(buffer, Math.min(length, 200))}"`));
    } else if (done > 0) {
      const now = performance.now();
      for (let i = 0; i < done; i += 1) tally.add(now - (startedAt[(answered + i) % depth] ?? now));
      answered += done;
      if (goOn()) send(done, now);
    }
    return true;
  };
  // The first latency of a connection includes its handshake.
  const connectedAt = performance.now();
  // Why `onread`: it bypasses streams, and reads into one reused buffer.
  const onread = { buffer: new Uint8Array(65_536), callback: onBytes };
  const socket = openSocket(target, () => send(depth, connectedAt), { onread });
  socket.setNoDelay(true);
  socket.on("error", fail);
  socket.on("close", () => answered < sent && fail(new Error("the server closed a connection")));
  return socket;
}

function text(bytes: Uint8Array, length: number): string {
  return Buffer.from(bytes.subarray(0, length)).toString("latin1");
}
