/**
 * Replies on their way to the peer. Those of one turn leave together, in one write each connection; a long one
 * leaves in pieces, each when the peer has taken the one before, so that its body is never copied
 * and may be the same for many.   AGTP "Connection Lifetime", `[limits]` send_buffer_bytes
 */
import { Buffer } from "node:buffer";
import type { TLSSocket } from "node:tls";
import { type Response, serializeHead, serializeResponses } from "../wire/message.ts";
import type { SendAccount } from "./connection-limits.ts";

/**
 * With about so much collected it should be written; also what is written at once of a long body.
 */
const BATCH_BYTES = 64 * 1024;

/** So much of the buffer is for being ahead of a reader; the rest is room for one long reply. */
const AHEAD = 1 / 16;

/** The rough size of a head. */
const HEAD_BYTES = 256;

const NONE: readonly Response[] = [];

/** A batch of replies, or the body of one, from where it was not written yet. */
interface Piece {
  readonly octets: string | Uint8Array;
  /** Held in the account. */
  readonly body: Uint8Array | undefined;
  at: number;
}

export interface OutboxOptions {
  readonly account: SendAccount;
  /** The octets that may wait before nothing more is begun. */
  readonly sendBufferBytes: number;
}

/** One a connection. */
export class Outbox {
  readonly #socket: TLSSocket;
  readonly #account: SendAccount;
  readonly #most: number;
  /** Answered, and not to be sent yet. */
  #replies: Response[] = [];
  /** The replies that wait for their records. */
  #batch: readonly Response[] = [];
  #bytes = 0;
  #batchBytes = 0;
  /** To be sent, and more than the peer has taken. */
  readonly #pieces: Piece[] = [];
  #pieceBytes = 0;
  /** Octets of the pieces that are no body of the account's. */
  #ownBytes = 0;
  #isWriting = false;

  constructor(socket: TLSSocket, { account, sendBufferBytes }: OutboxOptions) {
    this.#socket = socket;
    this.#account = account;
    this.#most = sendBufferBytes;
  }

  /** The peer has taken what was written. */
  drained(): void {
    this.#isWriting = false;
    this.#account.take();
    this.#writePieces();
  }

  closed(): void {
    this.#pieces.length = 0;
    this.#account.close();
  }

  /** The peer leaves too much unread: nothing more should be begun for it. */
  get isBlocked(): boolean {
    if (!this.#isWriting) return false;
    return this.#bytes + this.#pieceBytes + this.#socket.writableLength >= this.#most * AHEAD;
  }

  /** Nothing more should be begun before this is flushed. */
  get isFull(): boolean {
    return this.#bytes >= BATCH_BYTES;
  }

  get isEmpty(): boolean {
    return this.#replies.length === 0;
  }

  /** True when all that was flushed is written, though perhaps not taken. */
  get isWritten(): boolean {
    return this.#pieces.length === 0;
  }

  add(reply: Response): void {
    const kept = keptReply(reply);
    if (isLong(kept) && !this.#socket.destroyed) this.#account.hold(kept.body);
    this.#replies.push(kept);
    this.#bytes += HEAD_BYTES + kept.body.length;
  }

  /** The replies to be sent next, as soon as it is known what became of their records. */
  takeBatch(): readonly Response[] {
    const batch = this.#replies;
    this.#batch = batch;
    this.#batchBytes = this.#bytes;
    this.#replies = [];
    return batch;
  }

  /** Sends what may leave in the place of each reply of the batch. */
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

  /** Short replies that follow each other are one piece. */
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

  /** Writes short replies; the buffer that they leave in serves again once they have left. */
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
 * Buffers that batches leave in, of the whole process. To make one of 24 KB for each write took as long as
 * filling it: a fiftieth of a pipelined request with a record.
 */
const keptBuffers: Buffer[] = [];
const KEPT_BYTES = 64 * 1024;
const MAX_KEPT = 32;

function keepBuffer(buffer: Buffer): void {
  if (keptBuffers.length < MAX_KEPT) keptBuffers.push(buffer);
}

/** The octets of a piece that are written at once. */
function nextOf({ octets, at }: Piece): string | Uint8Array {
  if (typeof octets === "string" || octets.length <= BATCH_BYTES) return octets;
  return octets.subarray(at, at + BATCH_BYTES);
}

type LongResponse = Response & { readonly body: Uint8Array };

function isLong(reply: Response): reply is LongResponse {
  return typeof reply.body !== "string" && reply.body.length > BATCH_BYTES;
}

/** A long text would be encoded anew for each of its pieces. */
function keptReply(reply: Response): Response {
  const { body, status, fields, responseId, lateFields } = reply;
  if (typeof body !== "string" || body.length <= BATCH_BYTES) return reply;
  return { status, fields, responseId, lateFields, body: Buffer.from(body) };
}

/** A connection whose replies wait. */
export interface BatchedWriter {
  /** Sends what was answered so far. */
  writeBatch(): void;
}

/**
 * So many leave before the turn has ended, or all once the first has waited for so long: nobody
 * waits for a thousand others, nor for handlers that take their time.
 */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 1;

/**
 * Batches the replies of a turn of the event loop: those of all connections that were read in it leave
 * together. To wake a peer costs as much as to answer it, and one that finds several replies is woken
 * once for all of them. There is one for each listener.
 */
export class WriteBatcher {
  #waiting: BatchedWriter[] = [];
  /** Since when the first of them waits. */
  #since = 0;

  /**
   * Notes that a connection writes when the turn ends; it does not ask again before then. `now` is of
   * `performance.now()`, no older than the work that it has done.
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
