/**
 * The TLS 1.3 listener: accepts, sweeps and drains connections. A connection over a cap is closed before its
 * handshake, and a slow handshake delays no other.   AGTP "Transport"
 */

import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { quietened } from "../base/back-off.ts";
import { LoopTurns } from "../base/loop-turns.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Recording } from "../dispatch/recorded.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import { Connection } from "./connection.ts";
import { ConnectionCaps, type SendBudget, TlsOverhead } from "./connection-limits.ts";
import {
  type Accepted,
  discard,
  LostWrites,
  peerOf,
  type RawConnection,
  secureHandle,
  takeHandles,
} from "./node-sockets.ts";
import { WriteBatcher } from "./outbox.ts";
import {
  createPeerCheck,
  NO_CERTIFICATE,
  type PeerCheck,
  type PeerRules,
} from "./peer-certificate.ts";

/** Key and certificate in PEM, and the rules for client certificates. */
export interface TlsIdentity extends PeerRules {
  readonly cert: string;
  readonly key: string;
  /** 48 octets shared by the workers of a daemon, so that each resumes the others' sessions. */
  readonly ticketKeys?: Buffer;
}

interface ServedDeployment {
  readonly identity: TlsIdentity;
  /** Applied to connections that are accepted from now on. */
  readonly limits: LimitsConfig;
  readonly dispatcher: Dispatcher;
}

interface ListenerOptions extends ServedDeployment {
  /** Shared by the whole daemon. */
  readonly sendBudget: SendBudget;
  readonly ledger: Recording;
  onFault(error: unknown): void;
  /** Called when a peer is refused for its certificate, at most once a second. */
  onRefusedPeer(reason: string, address: string): void;
}

export interface Listener {
  listen(host: string, port: number): Promise<net.AddressInfo>;
  /** Serves a connection that another process or listener accepted. */
  take(accepted: Accepted): void;
  /**
   * Applies a new deployment: its certificate and limits to new connections, its dispatcher to all. If the rules for
   * client certificates changed, existing connections are drained, since their certificates were checked by the old
   * rules.
   */
  replace(served: ServedDeployment): void;
  readonly connectionCount: number;
  /** Stops accepting, answers everything received, and aborts the rest after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * Time per turn for answering received requests. With a budget per connection, 500 that pipelined 16 requests held a
 * turn for 760 ms, with a common one for 200. Without one for first requests, 200 connections with a request of 7 ms
 * held it for 1,400.
 */
const TURN_MS = 5;

/**
 * Builds a listener that is not bound yet. No closure refers to the options object as a whole, which would keep the
 * first deployment in memory after later ones.
 */
export function createListener({
  onFault,
  sendBudget,
  ledger,
  limits,
  dispatcher,
  ...options
}: ListenerOptions): Listener {
  const context = {
    ...{ onFault, sendBudget, ledger, limits, dispatcher },
    batcher: new WriteBatcher(),
    turns: {
      pipelined: new LoopTurns(TURN_MS),
      ...{ first: new LoopTurns(TURN_MS), firstOfSlow: new LoopTurns(TURN_MS) },
    },
    onClose: (connection: Connection) => connections.delete(connection),
  };
  const connections = new Set<Connection>();
  const caps = new ConnectionCaps(() => context.limits);
  const onRefusedPeer = quietened(options.onRefusedPeer);
  const handshakerFor = (identity: TlsIdentity): Handshaker => {
    const checkPeer = guarded(createPeerCheck(identity), onFault);
    const begin = createHandshaker(identity);
    return ({ lower, peer: { address, port }, onClosed }) => {
      const socket = begin(lower);
      const admitted = caps.admit(socket, address, onClosed);
      socket.on("secure", () => {
        if (socket.destroyed) return;
        caps.established(admitted);
        const peer = checkPeer?.(socket) ?? NO_CERTIFICATE;
        if (peer.kind === "refused") {
          onRefusedPeer(peer.reason, address);
          socket.destroy();
          return;
        }
        // Set after the handshake only: a peer that ends its side during it has left.
        socket.allowHalfOpen = true;
        const overhead = new TlsOverhead(lower, socket);
        const { certificate, certificateFault } = peer.identity;
        const caller = { address, port, certificate, certificateFault };
        const writes = new LostWrites(lower, socket);
        connections.add(new Connection(socket, context, { peer: caller, overhead, writes }));
      });
    };
  };
  let { identity: rules } = options;
  let secure = handshakerFor(rules);
  let isDraining = false;
  const take = (accepted: Accepted): void => {
    if (!isDraining && caps.hasRoom(accepted.peer.address)) {
      secure(accepted);
      return;
    }
    discard(accepted.lower);
    accepted.onClosed?.();
  };
  const accept = (lower: RawConnection): void => {
    const peer = peerOf(lower);
    if (peer === undefined) discard(lower);
    else take({ lower, peer });
  };
  const acceptor = net.createServer({ noDelay: true }, accept);
  const sweeper = startSweeper(context, (now) => {
    caps.sweep(now);
    sendBudget.sweep(now);
    for (const connection of connections) connection.sweep(now);
  });

  return {
    async listen(host, port) {
      acceptor.listen({ host, port, backlog: 1024 });
      await once(acceptor, "listening");
      acceptor.on("error", quietened(onFault));
      takeHandles(acceptor, accept);
      return acceptor.address() as net.AddressInfo;
    },
    take,
    replace({ identity, limits, dispatcher }) {
      secure = handshakerFor(identity);
      context.limits = limits;
      context.dispatcher = dispatcher;
      const isAsBefore =
        identity.clientAuth === rules.clientAuth && identity.clientCa === rules.clientCa;
      rules = identity;
      if (isAsBefore) return;
      caps.endHandshakes();
      for (const connection of connections) connection.drain();
    },
    get connectionCount() {
      return caps.count;
    },
    async drain(timeoutMs) {
      isDraining = true;
      await drainAll({ acceptor, connections, caps, timeoutMs });
      sweeper.stop();
    },
  };
}

/** Performs the handshake of an admitted connection, and serves it. */
type Handshaker = (accepted: Accepted) => void;

/** One session id context, so that workers can resume each other's sessions. */
const SESSIONS = "agtp";

/**
 * The cipher suites of TLS 1.3 for streams, the mandatory one first: processors have instructions for its SHA-256
 * and not for SHA-384, which makes a handshake a tenth cheaper. RFC 8446 §9.1
 */
const CIPHERS = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/** `agtp` in the wire format of ALPN. */
const ALPN: Buffer = Buffer.from("\x04agtp", "latin1");

/**
 * Creates TLS sockets for handshakes. A `tls.Server` is avoided: it has a timer and five listeners per socket, and
 * does not expose the raw socket under a TLS socket. This, and one listener per event in `connection.ts`, saved a
 * third of a connection's cost above a bare echo.
 */
function createHandshaker({ cert, key, clientAuth, clientCa, ticketKeys }: TlsIdentity) {
  const options: tls.TLSSocketOptions = {
    secureContext: tls.createSecureContext({
      ...{ cert, key, sessionIdContext: SESSIONS, honorCipherOrder: true, ciphers: CIPHERS },
      ...{ minVersion: "TLSv1.3", maxVersion: "TLSv1.3" },
      // Without a list Node parses every certificate that it trusts, a tenth of the start-up time.
      ca: clientCa ?? [],
      ...(ticketKeys === undefined ? {} : { ticketKeys }),
    }),
    isServer: true,
    ALPNProtocols: ALPN,
    requestCert: clientAuth !== "none",
    // Chains are checked in `peer-certificate.ts`: OpenSSL refuses every Agent Certificate for its critical
    // extensions.
    rejectUnauthorized: false,
  };
  return (lower: RawConnection): tls.TLSSocket => {
    const socket =
      lower instanceof net.Socket
        ? new tls.TLSSocket(lower, options)
        : secureHandle(lower, options);
    // A TLS socket without a server emits this event on a failure of TLS or of the raw socket.
    socket.on("_tlsError", () => socket.destroy());
    return socket;
  };
}

/** Turns an exception of the check, which relies on third-party parsers, into a refusal instead of a crash. */
function guarded(
  checkPeer: PeerCheck | undefined,
  onFault: (error: unknown) => void,
): PeerCheck | undefined {
  if (checkPeer === undefined) return undefined;
  return (socket) => {
    try {
      return checkPeer(socket);
    } catch (error) {
      onFault(error);
      return { kind: "refused", reason: "the certificate could not be verified" };
    }
  };
}

/**
 * Runs one timer for all deadlines, a quarter of the shortest. It sweeps at the end of its turn with the time of the
 * turn's beginning, so that octets that had arrived by then are read before their peer is considered late.
 */
function startSweeper(context: Pick<ServedDeployment, "limits">, sweep: (now: number) => void) {
  const period = (): number => {
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = context.limits;
    const shortest = Math.min(headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs);
    return Math.min(1_000, Math.max(20, shortest / 4));
  };
  let immediate: NodeJS.Immediate | undefined;
  const sweepAsOf = (now: number): void => {
    sweep(now);
    timer = setTimeout(atEndOfTurn, period());
  };
  const atEndOfTurn = (): void => {
    immediate = setImmediate(sweepAsOf, performance.now());
  };
  let timer = setTimeout(atEndOfTurn, period());
  return {
    stop: () => {
      clearTimeout(timer);
      clearImmediate(immediate);
    },
  };
}

interface Drain {
  readonly acceptor: net.Server;
  readonly connections: ReadonlySet<Connection>;
  readonly caps: ConnectionCaps;
  readonly timeoutMs: number;
}

async function drainAll({ acceptor, connections, caps, timeoutMs }: Drain): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    acceptor.close(() => resolve());
  });
  caps.endHandshakes();
  for (const connection of connections) connection.drain();
  const timer = setTimeout(() => {
    const reason = new Error("the server is shutting down");
    for (const connection of connections) connection.abort(reason);
    caps.endAll();
  }, timeoutMs);
  await closed;
  // Sockets accepted elsewhere are not counted by the acceptor.
  await caps.emptied();
  clearTimeout(timer);
}
