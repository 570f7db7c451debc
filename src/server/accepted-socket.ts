/**
 * Connections that are secured as they were accepted: without a `net.Socket` under each, which would never be
 * read or written, and takes a twentieth of a connection. Where a Node keeps the parts elsewhere, sockets are
 * accepted as usual.
 */
import type { Server, Socket } from "node:net";
import { TLSSocket, type TLSSocketOptions } from "node:tls";

/** The other end of a connection that was just accepted. */
export interface PeerAddress {
  readonly address: string;
  readonly port: number;
}

/** A connection as Node has it below its sockets. */
export interface AcceptedHandle extends Pick<Socket, "bytesRead"> {
  getpeername(to: Partial<PeerAddress>): number;
  setNoDelay(on: boolean): number;
  close(): void;
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
  next = accepted;
  const socket = new HandleSocket(undefined as unknown as Socket, options);
  // Without a socket below it, a client's is meant, which is not connected yet.
  (socket as { connecting: boolean }).connecting = false;
  return socket;
}
