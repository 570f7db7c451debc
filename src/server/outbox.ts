/**
 * Replies on their way to the peer. The replies of one turn are written together; a long one is written in pieces,
 * each once the peer has read the one before, so that its body is never copied and can be shared by many replies.
 * AGTP "Connection Lifetime", `[limits]` send_buffer_bytes
 */
import { Buffer } from "node:buffer";
import type { TLSSocket } from "node:tls";
import { type Response, serializeHead, serializeResponses } from "../wire/message.ts";
import type { SendAccount } from "./connection-limits.ts";

/** The size at which a batch is written, and of the pieces of a long body. */
const BATCH_BYTES = 64 * 1024;

/** The part of the send buffer that may fill up ahead of a reader; the rest is room for one long reply. */
const AHEAD = 1 / 16;

/** The approximate size of a head. */
const HEAD_BYTES = 256;

const NONE: readonly Response[] = [];

/** A batch of replies, or one long body, from its first unwritten octet. */
interface Piece {
  readonly octets: string | Uint8Array;
  /** The body, if it is held in the account. */
  readonly body: Uint8Array | undefined;
  at: number;
}

export interface OutboxOptions {
  readonly account: SendAccount;
  /** The queued octets at which no further request is started. */
  readonly sendBufferBytes: number;
}

/** One per connection. */
export class Outbox {
  readonly #socket: TLSSocket;
  readonly #account: SendAccount;
  readonly #most: number;
  /** Answered, and not to be sent yet. */
  #replies: Response[] = [];
  /** The replies whose records are being written. */
  #batch: readonly Response[] = [];
  #bytes = 0;
  #batchBytes = 0;
  /** Queued behind octets that the peer has not read. */
  readonly #pieces: Piece[] = [];
  #pieceBytes = 0;
  /** Octets of the pieces outside the bodies held in the account. */
  #ownBytes = 0;
  #isWriting = false;

  constructor(socket: TLSSocket, { account, sendBufferBytes }: OutboxOptions) {
    this.#socket = socket;
    this.#account = account;
    this.#most = sendBufferBytes;
  }

  /** Continues writing, after the peer has read. */
  drained(): void {
    this.#isWriting = false;
    this.#account.take();
    this.#writePieces();
  }

  closed(): void {
    this.#pieces.length = 0;
    this.#account.close();
  }

  /** True if the peer has too much unread, so that no further request should start. */
  get isBlocked(): boolean {
    if (!this.#isWriting) return false;
    return this.#bytes + this.#pieceBytes + this.#socket.writableLength >= this.#most * AHEAD;
  }

  /** True if the batch should be flushed before a further request starts. */
  get isFull(): boolean {
    return this.#bytes >= BATCH_BYTES;
  }

  get isEmpty(): boolean {
    return this.#replies.length === 0;
  }

  /** True if everything flushed is written, though perhaps not read. */
  get isWritten(): boolean {
    return this.#pieces.length === 0;
  }

  add(reply: Response): void {
    const kept = keptReply(reply);
    if (isLong(kept) && !this.#socket.destroyed) this.#account.hold(kept.body);
    this.#replies.push(kept);
    this.#bytes += HEAD_BYTES + kept.body.length;
  }

  /** Takes the replies to be sent once their records are decided. */
  takeBatch(): readonly Response[] {
    const batch = this.#replies;
    this.#batch = batch;
    this.#batchBytes = this.#bytes;
    this.#replies = [];
    return batch;
  }

  /** Sends the replies that may leave, each in the place of one of the batch. */
  flush(replies: readonly Response[]): void {
    this.#bytes -= this.#batchBytes;
    if (replies !== this.#batch) {
      for (const [at, reply] of this.#batch.entries()) {
        if (replies[at] !== reply && isLong(reply)) this.#account.release(reply.body);
      }
    }
    this.#batch = NONE;
    if (this.#socket.destroyed || replies.length === 0) return;
    if (this.#isWriting || replies.some(isLong)) {
      this.#enqueue(replies);
      this.#writePieces();
    } else this.#writeBatch(replies);
  }

  /** Joins consecutive short replies into one piece. */
  #enqueue(replies: readonly Response[]): void {
    let short: Response[] = [];
    const pushShort = (): void => {
      if (short.length > 0) this.#push(serializeResponses(short), undefined);
      short = [];
    };
    for (const reply of replies) {
      if (!isLong(reply)) short.push(reply);
      else {
        pushShort();
        this.#push(serializeHead(reply), undefined);
        this.#push(reply.body, reply.body);
      }
    }
    pushShort();
  }

  #push(octets: string | Uint8Array, body: Uint8Array | undefined): void {
    this.#pieces.push({ octets, body, at: 0 });
    this.#count(octets.length, body);
  }

  #count(bytes: number, body: Uint8Array | undefined): void {
    this.#pieceBytes += bytes;
    if (body === undefined) this.#ownBytes += bytes;
  }

  #writePieces(): void {
    for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[0]) {
      if (this.#isWriting || this.#socket.destroyed) break;
      const { octets, body } = piece;
      const next = nextOf(piece);
      piece.at += next.length;
      this.#count(-next.length, body);
      if (piece.at === octets.length) {
        this.#pieces.shift();
        if (body !== undefined) this.#account.release(body);
      }
      this.#write(next);
    }
    if (this.#isWriting) this.#account.wait(this.#ownBytes + this.#socket.writableLength);
    else this.#account.rest();
  }

  /** Writes short replies from a buffer that is reused once it is sent. */
  #writeBatch(replies: readonly Response[]): void {
    let kept: Buffer | undefined;
    const octets = serializeResponses(replies, (length) => {
      kept =
        length <= KEPT_BYTES
          ? (keptBuffers.pop() ?? Buffer.allocUnsafeSlow(KEPT_BYTES))
          : undefined;
      return kept?.subarray(0, length) ?? Buffer.allocUnsafe(length);
    });
    const buffer = kept;
    this.#write(octets, buffer && (() => keepBuffer(buffer)));
  }

  #write(octets: string | Uint8Array, onWritten?: () => void): void {
    if (this.#socket.write(octets, "latin1", onWritten)) return;
    this.#isWriting = true;
    this.#account.wait(this.#ownBytes + this.#socket.writableLength);
  }
}

/**
 * A process-wide pool of buffers for batches. Allocating 24 KB for each write took as long as filling it: a fiftieth
 * of a pipelined request with a record.
 */
const keptBuffers: Buffer[] = [];
const KEPT_BYTES = 64 * 1024;
const MAX_KEPT = 32;

function keepBuffer(buffer: Buffer): void {
  if (keptBuffers.length < MAX_KEPT) keptBuffers.push(buffer);
}

/** Returns the octets of a piece to write next. */
function nextOf({ octets, at }: Piece): string | Uint8Array {
  if (typeof octets === "string" || octets.length <= BATCH_BYTES) return octets;
  return octets.subarray(at, at + BATCH_BYTES);
}

type LongResponse = Response & { readonly body: Uint8Array };

function isLong(reply: Response): reply is LongResponse {
  return typeof reply.body !== "string" && reply.body.length > BATCH_BYTES;
}

/** Encodes a long string once, instead of again for each piece. */
function keptReply(reply: Response): Response {
  const { body, status, fields, responseId, lateFields } = reply;
  if (typeof body !== "string" || body.length <= BATCH_BYTES) return reply;
  return { status, fields, responseId, lateFields, body: Buffer.from(body) };
}

/** A connection with replies to write. */
export interface BatchedWriter {
  /** Writes the replies so far. */
  writeBatch(): void;
}

/**
 * Beyond this many connections, or this long after the first, the batch is written at once: no reply waits for a
 * thousand others, nor for slow handlers.
 */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 1;

/**
 * Batches the replies of one turn of the event loop across the connections of a listener. Waking a peer costs as
 * much as answering it, and a peer that finds several replies is woken once.
 */
export class WriteBatcher {
  #waiting: BatchedWriter[] = [];
  /** When the first of them was added. */
  #since = 0;

  /**
   * Schedules the connection's write for the end of the turn; it must not be added again before. `now` is in
   * milliseconds of `performance.now()`, no older than the connection's last reply.
   */
  add(one: BatchedWriter, now: number): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) {
      this.#since = now;
      setImmediate(() => this.#write());
    } else if (waiting === MAX_WAITING || now - this.#since > MAX_WAIT_MS) this.#write();
  }

  #write(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.writeBatch();
  }
}
