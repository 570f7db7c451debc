/**
 * Connections that are secured as they were accepted: without a `net.Socket` under each, which would never be
 * read or written, and takes a twentieth of a connection. Where a Node keeps the parts elsewhere, sockets are
 * accepted as usual.
 */
import { type Server, Socket, type SocketConstructorOpts } from "node:net";
import { TLSSocket, type TLSSocketOptions } from "node:tls";

/** The other end of a connection that was just accepted. */
export interface PeerAddress {
  readonly address: string;
  readonly port: number;
}

/** A connection as Node has it below its sockets. */
export interface AcceptedHandle extends Pick<Socket, "bytesRead" | "bytesWritten"> {
  /** Octets that the system has not taken yet. */
  readonly writeQueueSize: number;
  getpeername(to: Partial<PeerAddress>): number;
  setNoDelay(on: boolean): number;
  close(): void;
}

/** A connection that nobody has read from: as it was accepted, or as the socket that Node made of it. */
export type RawConnection = Socket | AcceptedHandle;

export interface Accepted {
  readonly lower: RawConnection;
  readonly peer: PeerAddress;
  /** Called once it is closed. */
  onClosed?(): void;
}

/** The other end; undefined: it is gone, before it could be served. */
export function peerOf(lower: RawConnection): PeerAddress | undefined {
  const peer: Partial<PeerAddress> = {};
  if (lower instanceof Socket) {
    const { remoteAddress: address, remotePort: port = 0 } = lower;
    return address === undefined ? undefined : { address, port };
  }
  lower.getpeername(peer);
  const { address, port = 0 } = peer;
  return address === undefined ? undefined : { address, port };
}

/** Closes a connection that is not served. */
export function discard(lower: RawConnection): void {
  if (lower instanceof Socket) lower.destroy();
  else lower.close();
}

/** A connection as a socket, which does not read. */
export function socketOf(lower: RawConnection): Socket {
  if (lower instanceof Socket) return lower;
  lower.setNoDelay(true);
  const options = { handle: lower, pauseOnCreate: true, readable: true, writable: true };
  return new Socket(options as SocketConstructorOpts);
}

interface AcceptorHandle {
  onconnection?(this: AcceptorHandle, fault: number, accepted?: AcceptedHandle): void;
}

type Wrapping = (wrap: unknown, handle: unknown, hasWritten: boolean) => unknown;

const { _wrapHandle: wrapHandle } = TLSSocket.prototype as unknown as { _wrapHandle?: Wrapping };

/** Has a server that listens give the connections that it accepts to `take`; false: this Node cannot. */
export function takeHandles(server: Server, take: (accepted: AcceptedHandle) => void): boolean {
  const { _handle: acceptor } = server as unknown as { readonly _handle?: AcceptorHandle | null };
  const accept = acceptor?.onconnection;
  if (acceptor == null || accept === undefined || wrapHandle?.length !== 3) return false;
  acceptor.onconnection = function (fault, accepted) {
    if (accepted === undefined || fault !== 0) accept.call(this, fault, accepted);
    else take(accepted);
  };
  return true;
}

/** The next to be secured: the constructor of a socket asks for its handle before it can have members. */
let next: AcceptedHandle | undefined;

class HandleSocket extends TLSSocket {
  /** As the constructor of `TLSSocket` calls it. */
  _wrapHandle(_wrap: unknown, handle: unknown, hasWritten: boolean): unknown {
    const own = next ?? handle;
    next = undefined;
    return wrapHandle?.call(this, null, own, hasWritten);
  }
}

/** The TLS socket over a connection. */
export function secureHandle(accepted: AcceptedHandle, options: TLSSocketOptions): TLSSocket {
  accepted.setNoDelay(true);
  next = accepted;
  const socket = new HandleSocket(undefined as unknown as Socket, options);
  // Without a socket below it, a client's is meant, which is not connected yet.
  (socket as { connecting: boolean }).connecting = false;
  return socket;
}

/**
 * Looks for a write that has failed and says nothing: Node passes the failure over where a peer resets the connection
 * while the session tickets are on their way, and the socket would be kept as that of a peer that does not read.
 */
export class LostWrites {
  readonly #lower: RawConnection;
  readonly #secured: Pick<Socket, "writableLength">;
  /** Octets that had left at the last look, where none was on its way though some wait. */
  #leftAt: number | undefined;

  /** The connection that was accepted, and the socket over it. */
  constructor(lower: RawConnection, secured: Pick<Socket, "writableLength">) {
    this.#lower = lower;
    this.#secured = secured;
  }

  /** Tells whether something waited at the last look, waits still, and nothing takes it away. */
  areLost(): boolean {
    if (this.#lower instanceof Socket) return false;
    const { writeQueueSize, bytesWritten } = this.#lower;
    const isStuck = writeQueueSize === 0 && this.#secured.writableLength > 0;
    const areLost = isStuck && this.#leftAt === bytesWritten;
    this.#leftAt = isStuck ? bytesWritten : undefined;
    return areLost;
  }
}
