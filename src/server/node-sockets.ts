/**
 * The insides of Node's sockets, where its API does not reach. Connections are secured as they were accepted: without
 * a `net.Socket` under each, which would never be read or written, and takes a twentieth of a connection. And sockets
 * are read into buffers of the process, as by the `onread` of `net.Socket`, which neither `tls.Server` nor
 * `node:child_process` passes on to those that they make. Where a Node keeps the parts elsewhere, sockets are accepted
 * and read as usual.
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

/** TLS hands over 16 KiB at once. */
const COPIED = Buffer.allocUnsafeSlow(64 * 1024);
/** As much as a socket pair holds by default. While a part of it is read, TLS may hand over octets into the other. */
const EMITTED = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Calls back with each chunk, which is the callee's; the socket flows, until it is paused. Each is copied out of one
 * buffer: Node makes an ArrayBuffer for each reading instead, which the collector has to sweep: without, the raw echo
 * takes 11 % less CPU at 16 x 1.
 */
export function readShared(socket: Socket, onChunk: (chunk: Buffer) => void): void {
  readInto(socket, COPIED, (length) => {
    onChunk(Buffer.from(COPIED.subarray(0, length)));
    return true;
  });
  socket.on("data", onChunk);
}

/** Makes a socket emit what it reads as parts of one buffer, each of which holds until the event is over. */
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
 * Makes a socket read into a buffer; `onRead` is told how many octets of it were filled, and pauses it by false. Where
 * a Node keeps the option elsewhere, nothing changes, and octets arrive as "data".
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

/** The places of the two options in a socket that was made without them; Node has one for all sockets. */
interface OptionSlots {
  readonly buffer: symbol | undefined;
  readonly callback: symbol | undefined;
}

/** Found with the first socket: to look through the symbols of each took four microseconds. */
let slots: OptionSlots | undefined;

function findSlots(socket: Slots): OptionSlots {
  const all = Object.getOwnPropertySymbols(socket);
  const slotOf = (name: string): symbol | undefined =>
    all.find(({ description }) => description === name);
  return { buffer: slotOf("kBuffer"), callback: slotOf("kBufferCb") };
}

/**
 * Frees those that listened to a socket that is closed. V8 keeps the parts below a socket, and so the
 * socket, until its next full collection: half of what each connection left behind.
 */
export function releaseSocket(socket: Socket): void {
  socket.removeAllListeners();
  socket.on("error", ignore);
  const slot = slots?.callback;
  if (slot !== undefined) (socket as unknown as Slots)[slot] = null;
}

function ignore(): void {}
