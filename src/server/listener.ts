/**
 * The TLS 1.3 listener: accepts, caps and sweeps connections. A connection over a cap is closed
 * before its handshake, and a slow handshake holds up nobody.   AGTP "Transport"
 */
import net from "node:net";
import tls from "node:tls";
import type { LimitsConfig, TlsConfig } from "../config/config.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
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
  /** A new certificate for new connections. */
  replaceIdentity(identity: TlsIdentity): void;
  readonly connectionCount: number;
  /** Stops accepting, answers what was received, and aborts what is left after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
}

/** Builds a listener; nothing is bound yet. */
export function createListener(options: ListenerOptions): Listener {
  const connections = new Set<Connection>();
  const admission = createAdmission(options);
  const secure = tls.createServer({
    ...secureOptions(options.identity),
    ALPNProtocols: ["agtp"],
    handshakeTimeout: options.limits().headerTimeoutMs,
    allowHalfOpen: true,
  });
  secure.on("secureConnection", (socket) => {
    const connection = new Connection(socket, { ...options, limits: options.limits() });
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  });
  // A failed handshake is the peer's business; its socket is destroyed by the TLS layer.
  secure.on("tlsClientError", () => undefined);

  const acceptor = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    if (admission.admit(socket)) secure.emit("connection", socket);
    else socket.destroy();
  });
  acceptor.on("error", options.onFault);
  const sweeper = startSweeper(connections, options);

  return {
    listen: (host, port) => bind(acceptor, host, port),
    replaceIdentity: (identity) => secure.setSecureContext(secureOptions(identity)),
    get connectionCount() {
      return admission.count;
    },
    drain: (timeoutMs) =>
      drainAll({ acceptor, connections, admission, timeoutMs }).finally(() =>
        clearInterval(sweeper),
      ),
  };
}

function secureOptions({ cert, key, clientAuth, clientCa }: TlsIdentity): tls.TlsOptions {
  return {
    cert,
    key,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    requestCert: clientAuth !== "none",
    rejectUnauthorized: clientAuth === "required",
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  };
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

interface Admission {
  admit(socket: net.Socket): boolean;
  readonly count: number;
  /** Raw sockets, those still shaking hands included. */
  readonly sockets: ReadonlySet<net.Socket>;
}

/** Counts connections in all and per address, from accept to close. */
function createAdmission({ limits }: ListenerOptions): Admission {
  const sockets = new Set<net.Socket>();
  const perAddress = new Map<string, number>();
  return {
    sockets,
    get count() {
      return sockets.size;
    },
    admit(socket) {
      const { maxConnections, maxConnectionsPerAddress } = limits();
      const address = socket.remoteAddress;
      // The peer was gone before it could be served.
      if (address === undefined) return false;
      const held = perAddress.get(address) ?? 0;
      if (sockets.size >= maxConnections || held >= maxConnectionsPerAddress) return false;
      sockets.add(socket);
      perAddress.set(address, held + 1);
      socket.once("close", () => {
        sockets.delete(socket);
        const left = (perAddress.get(address) ?? 1) - 1;
        if (left > 0) perAddress.set(address, left);
        else perAddress.delete(address);
      });
      return true;
    },
  };
}

/** One timer for all deadlines of all connections, as fine as the shortest deadline needs. */
function startSweeper(connections: ReadonlySet<Connection>, options: ListenerOptions) {
  const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = options.limits();
  const shortest = Math.min(headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs);
  const period = Math.min(1_000, Math.max(20, shortest / 4));
  return setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.sweep(now);
  }, period);
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
  for (const connection of connections) connection.drain();
  const timer = setTimeout(() => {
    const reason = new Error("the server is shutting down");
    for (const connection of connections) connection.abort(reason);
    for (const socket of admission.sockets) socket.destroy();
  }, timeoutMs);
  await closed;
  clearTimeout(timer);
}
