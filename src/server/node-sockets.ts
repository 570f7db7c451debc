/**
 * Reaches into the internals of Node's sockets. Accepted handles are wrapped in TLS directly: the `net.Socket` in
 * between would never be read or written, and costs a twentieth of a connection. Sockets are read into shared
 * buffers, as by the `onread` option of `net.Socket`, which neither `tls.Server` nor `node:child_process` passes on.
 * In a version of Node with other internals, sockets are accepted and read as usual.
 */
import { type Server, Socket, type SocketConstructorOpts } from "node:net";
import { TLSSocket, type TLSSocketOptions } from "node:tls";

/** The peer's address of an accepted connection. */
export interface PeerAddress {
  readonly address: string;
  readonly port: number;
}

/** Node's internal handle of a connection. */
export interface AcceptedHandle extends Pick<Socket, "bytesRead" | "bytesWritten"> {
  /** Octets that the operating system has not accepted yet. */
  readonly writeQueueSize: number;
  getpeername(to: Partial<PeerAddress>): number;
  setNoDelay(on: boolean): number;
  close(): void;
}

/** An accepted connection before anything was read: a handle, or a socket that Node made for it. */
export type RawConnection = Socket | AcceptedHandle;

export interface Accepted {
  readonly lower: RawConnection;
  readonly peer: PeerAddress;
  /** Called once the connection is closed. */
  onClosed?(): void;
}

/** Returns the peer's address; undefined if the peer has disconnected. */
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

/** Closes a connection without serving it. */
export function discard(lower: RawConnection): void {
  if (lower instanceof Socket) lower.destroy();
  else lower.close();
}

/** Returns a paused socket for the connection. */
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

/** Passes the handles that a listening server accepts to `take`; false if this version of Node does not allow it. */
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

/** The handle for the next TLS socket: its constructor asks for the handle before members can be set. */
let next: AcceptedHandle | undefined;

class HandleSocket extends TLSSocket {
  /** Called by the constructor of `TLSSocket`. */
  _wrapHandle(_wrap: unknown, handle: unknown, hasWritten: boolean): unknown {
    const own = next ?? handle;
    next = undefined;
    return wrapHandle?.call(this, null, own, hasWritten);
  }
}

/** Creates the TLS socket over a connection. */
export function secureHandle(accepted: AcceptedHandle, options: TLSSocketOptions): TLSSocket {
  accepted.setNoDelay(true);
  next = accepted;
  const socket = new HandleSocket(undefined as unknown as Socket, options);
  // Node assumes an unconnected client socket if there is no socket underneath.
  (socket as { connecting: boolean }).connecting = false;
  return socket;
}

/**
 * Detects writes that failed silently: if the peer resets the connection while the session tickets are being
 * written, Node drops the error, and the peer would look like one that does not read.
 */
export class LostWrites {
  readonly #lower: RawConnection;
  readonly #secured: Pick<Socket, "writableLength">;
  /** Octets sent at the last check, if the handle's queue was empty then while octets waited above it. */
  #leftAt: number | undefined;

  /** Takes the accepted connection, and the TLS socket over it. */
  constructor(lower: RawConnection, secured: Pick<Socket, "writableLength">) {
    this.#lower = lower;
    this.#secured = secured;
  }

  /** True if octets waited at the last check, wait still, and none was sent meanwhile. */
  areLost(): boolean {
    if (this.#lower instanceof Socket) return false;
    const { writeQueueSize, bytesWritten } = this.#lower;
    const isStuck = writeQueueSize === 0 && this.#secured.writableLength > 0;
    const areLost = isStuck && this.#leftAt === bytesWritten;
    this.#leftAt = isStuck ? bytesWritten : undefined;
    return areLost;
  }
}

/** TLS delivers 16 KiB at once. */
const COPIED = Buffer.allocUnsafeSlow(64 * 1024);
/** The default buffer of a socket pair. TLS may write into one part while another is being read. */
const EMITTED = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Calls back with each chunk, which the callee owns; the socket flows until it is paused. Chunks are copied from one
 * buffer, because Node otherwise allocates an ArrayBuffer per read, which the garbage collector has to sweep: the
 * raw echo takes 11 % less CPU at 16 x 1.
 */
export function readShared(socket: Socket, onChunk: (chunk: Buffer) => void): void {
  readInto(socket, COPIED, (length) => {
    onChunk(Buffer.from(COPIED.subarray(0, length)));
    return true;
  });
  socket.on("data", onChunk);
}

/** Makes a socket emit its data as parts of one buffer, each valid during its event only. */
export function emitShared(socket: Socket): void {
  readInto(socket, EMITTED, (length) => {
    socket.emit("data", EMITTED.subarray(0, length));
    return true;
  });
}

interface UserBufferHandle {
  useUserBuffer?(buffer: Uint8Array): void;
}

type Slots = Record<symbol, unknown> & { readonly _handle?: UserBufferHandle | null };

/**
 * Makes a socket read into a buffer; `onRead` gets the number of octets, and returns false to pause. In a version of
 * Node with other internals nothing changes, and octets arrive by "data".
 */
function readInto(socket: Socket, buffer: Buffer, onRead: (length: number) => boolean): void {
  const slotted = socket as unknown as Slots;
  const { _handle: handle } = slotted;
  slots ??= findSlots(slotted);
  const { buffer: bufferSlot, callback: callbackSlot } = slots;
  if (bufferSlot === undefined || callbackSlot === undefined) return;
  if (slotted[bufferSlot] !== null || slotted[callbackSlot] !== null) return;
  if (typeof handle?.useUserBuffer !== "function") return;
  slotted[bufferSlot] = buffer;
  slotted[callbackSlot] = onRead;
  handle.useUserBuffer(buffer);
}

/** Node's symbols for the two options, the same for every socket. */
interface OptionSlots {
  readonly buffer: symbol | undefined;
  readonly callback: symbol | undefined;
}

/** Looked up on the first socket, since a lookup takes four microseconds. */
let slots: OptionSlots | undefined;

function findSlots(socket: Slots): OptionSlots {
  const all = Object.getOwnPropertySymbols(socket);
  const slotOf = (name: string): symbol | undefined =>
    all.find(({ description }) => description === name);
  return { buffer: slotOf("kBuffer"), callback: slotOf("kBufferCb") };
}

/**
 * Removes the listeners of a closed socket. V8 keeps the handle, and so the socket, until its next full collection:
 * half of the memory that each connection left behind.
 */
export function releaseSocket(socket: Socket): void {
  socket.removeAllListeners();
  socket.on("error", ignore);
  const slot = slots?.callback;
  if (slot !== undefined) (socket as unknown as Slots)[slot] = null;
}

function ignore(): void {}
