/**
 * The TLS 1.3 listener: accepts, sweeps and drains connections. A connection over a cap is closed
 * before its handshake, and a slow handshake holds up nobody.   AGTP "Transport"
 */
import net from "node:net";
import tls from "node:tls";
import type { LimitsConfig, TlsConfig } from "../config/config.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { Admission } from "./admission.ts";
import { Connection } from "./connection.ts";

/** Key, certificate and client verification, as PEM text. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  readonly clientAuth: TlsConfig["clientAuth"];
  readonly clientCa: string | undefined;
}

export interface ListenerOptions {
  readonly identity: TlsIdentity;
  /** The limits in force; new connections take them as they are then. */
  limits(): LimitsConfig;
  dispatcher(): Dispatcher;
  onFault(error: unknown): void;
}

export interface Listener {
  listen(host: string, port: number): Promise<net.AddressInfo>;
  /** A new certificate, and new rules for clients' own, for new connections. */
  replaceIdentity(identity: TlsIdentity): void;
  readonly connectionCount: number;
  /** Stops accepting, answers what was received, and aborts what is left after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
}

/** Builds a listener; nothing is bound yet. */
export function createListener(options: ListenerOptions): Listener {
  const connections = new Set<Connection>();
  const admission = new Admission(options.limits);
  const serve = (socket: tls.TLSSocket): void => {
    admission.established(socket);
    // Only now: a peer that ends its side in the handshake is gone.
    socket.allowHalfOpen = true;
    const connection = new Connection(socket, { ...options, limits: options.limits() });
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  };
  let secure = createHandshaker(options.identity, serve);
  const acceptor = net.createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    if (admission.admit(socket)) secure.emit("connection", socket);
    else socket.destroy();
  });
  const sweeper = startSweeper(options, (now) => {
    admission.sweep(now);
    for (const connection of connections) connection.sweep(now);
  });

  return {
    async listen(host, port) {
      const address = await bind(acceptor, host, port);
      acceptor.on("error", quietened(options.onFault));
      return address;
    },
    replaceIdentity(identity) {
      secure = createHandshaker(identity, serve);
    },
    get connectionCount() {
      return admission.count;
    },
    async drain(timeoutMs) {
      await drainAll({ acceptor, connections, admission, timeoutMs });
      sweeper.stop();
    },
  };
}

/** A TLS server that is handed its connections; it never listens itself. */
function createHandshaker(
  { cert, key, clientAuth, clientCa }: TlsIdentity,
  serve: (socket: tls.TLSSocket) => void,
): tls.Server {
  const secure = tls.createServer({
    cert,
    key,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    ALPNProtocols: ["agtp"],
    requestCert: clientAuth !== "none",
    rejectUnauthorized: clientAuth === "required",
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  });
  return secure.on("secureConnection", serve);
}

function bind(acceptor: net.Server, host: string, port: number): Promise<net.AddressInfo> {
  return new Promise((resolve, reject) => {
    acceptor.once("error", reject);
    acceptor.listen({ host, port, backlog: 1024 }, () => {
      acceptor.off("error", reject);
      resolve(acceptor.address() as net.AddressInfo);
    });
  });
}

const QUIET_MS = 1_000;

/** Without a descriptor left every accept fails: one line a second says so. */
function quietened(onFault: (error: unknown) => void): (error: unknown) => void {
  let quietUntil = 0;
  return (error) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    onFault(error);
  };
}

/** One timer for all deadlines, as fine as the shortest in force needs. */
function startSweeper({ limits }: ListenerOptions, sweep: (now: number) => void) {
  const period = (): number => {
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = limits();
    const shortest = Math.min(headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs);
    return Math.min(1_000, Math.max(20, shortest / 4));
  };
  const run = (): void => {
    sweep(performance.now());
    timer = setTimeout(run, period());
  };
  let timer = setTimeout(run, period());
  return { stop: () => clearTimeout(timer) };
}

interface Drain {
  readonly acceptor: net.Server;
  readonly connections: ReadonlySet<Connection>;
  readonly admission: Admission;
  readonly timeoutMs: number;
}

async function drainAll({ acceptor, connections, admission, timeoutMs }: Drain): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    acceptor.close(() => resolve());
  });
  admission.endHandshakes();
  for (const connection of connections) connection.drain();
  const timer = setTimeout(() => {
    const reason = new Error("the server is shutting down");
    for (const connection of connections) connection.abort(reason);
    admission.endAll();
  }, timeoutMs);
  await closed;
  clearTimeout(timer);
}
