/**
 * The TLS 1.3 listener: accepts, sweeps and drains connections. A connection over a cap is closed
 * before its handshake, and a slow handshake holds up nobody.   AGTP "Transport"
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

/** Key and certificate, as PEM text, and what is asked of clients. */
export interface TlsIdentity extends PeerRules {
  readonly cert: string;
  readonly key: string;
  /** 48 octets that all workers of a daemon have, to resume each other's sessions. */
  readonly ticketKeys?: Buffer;
}

interface ServedDeployment {
  readonly identity: TlsIdentity;
  /** New connections take them as they are then. */
  readonly limits: LimitsConfig;
  readonly dispatcher: Dispatcher;
}

interface ListenerOptions extends ServedDeployment {
  /** Of all that the daemon sends. */
  readonly sendBudget: SendBudget;
  readonly ledger: Recording;
  onFault(error: unknown): void;
  /** A peer was turned away for its certificate; told at most once a second. */
  onRefusedPeer(reason: string, address: string): void;
}

export interface Listener {
  listen(host: string, port: number): Promise<net.AddressInfo>;
  /** Serves a connection that was accepted elsewhere. */
  take(accepted: Accepted): void;
  /**
   * Another deployment: its certificate and limits for new connections, its dispatcher for all. With
   * new rules for clients' own certificates, connections made under the old rules are answered and
   * closed: what they proved then may not hold any more.
   */
  replace(served: ServedDeployment): void;
  readonly connectionCount: number;
  /** Stops accepting, answers what was received, and aborts what is left after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * So long connections answer what they have received before others have their turn. With a share for each, 500 that
 * pipelined 16 requests held a turn for 760 ms, with one for all 200. Without one for the first of each, 200 that asked
 * a question of 7 ms held it for 1,400.
 */
const TURN_MS = 5;

/**
 * Builds a listener; nothing is bound yet. No function in it names its options as a whole, which would
 * keep the first deployment in memory behind every other.
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
        // Only now: a peer that ends its side in the handshake is gone.
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

/** Does the handshake of a connection that was let in, and serves what comes of it. */
type Handshaker = (accepted: Accepted) => void;

/** Sessions of one worker are those of another. */
const SESSIONS = "agtp";

/**
 * All that TLS 1.3 has for streams, the one that each must know first: its SHA-256 is done by the processor,
 * which SHA-384 is not, and a handshake takes a tenth less.   RFC 8446 §9.1
 */
const CIPHERS = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/** `agtp`, as it stands in a handshake. */
const ALPN: Buffer = Buffer.from("\x04agtp", "latin1");

/**
 * Begins handshakes. The sockets are made here and not by a `tls.Server`, which has a timer of its own for
 * each, five listeners, and no way to tell which raw socket is under one that is secured. This, and one
 * listener an event in `connection.ts`, took a third off what a connection costs beyond a bare echo's.
 */
function createHandshaker({ cert, key, clientAuth, clientCa, ticketKeys }: TlsIdentity) {
  const options: tls.TLSSocketOptions = {
    secureContext: tls.createSecureContext({
      ...{ cert, key, sessionIdContext: SESSIONS, honorCipherOrder: true, ciphers: CIPHERS },
      ...{ minVersion: "TLSv1.3", maxVersion: "TLSv1.3" },
      // Without a list Node reads all certificates that it trusts, which is a tenth of a start.
      ca: clientCa ?? [],
      ...(ticketKeys === undefined ? {} : { ticketKeys }),
    }),
    isServer: true,
    ALPNProtocols: ALPN,
    requestCert: clientAuth !== "none",
    // OpenSSL refuses every Agent Certificate for its critical extensions.
    rejectUnauthorized: false,
  };
  return (lower: RawConnection): tls.TLSSocket => {
    const socket =
      lower instanceof net.Socket
        ? new tls.TLSSocket(lower, options)
        : secureHandle(lower, options);
    // A socket without a server says by this event that TLS or the raw socket has failed.
    socket.on("_tlsError", () => socket.destroy());
    return socket;
  };
}

/** Certificates are read by more code than ours: a bug there must not end the daemon. */
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
 * One timer for all deadlines, as fine as the shortest in force needs. It sweeps at the end of its turn, as of its
 * beginning: what had arrived by then is read before its peer is called late, however long that turn takes.
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
  // Sockets that were accepted elsewhere are not the acceptor's.
  await caps.emptied();
  clearTimeout(timer);
}
