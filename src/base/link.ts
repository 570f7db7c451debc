/**
 * Requests, answers and notices between two processes of one build, over a stream. A message is a
 * frame: the lengths of its JSON and of attached octets, 4 octets each, then both; the octets need
 * no parsing, as JSON text would. Messages of one turn of the loop are written together. Both ends
 * trust each other; one that dies within a message or sends an invalid one counts as gone.
 */
import type { Duplex } from "node:stream";

interface Frame {
  readonly text: string;
  /** The octets, in memory of their own. */
  readonly octets: Buffer;
}

/** Octets attached to a message, written directly into its frame. */
export interface Cargo {
  readonly length: number;
  writeTo(frame: Buffer, at: number): void;
}

const LENGTHS = 8;
/** The maximum length of a frame, far above any message. */
export const MAX_FRAME: number = 512 * 1024 * 1024;

/** Builds a frame from a text and its cargo. */
export function frameOf(text: string, cargo?: Cargo): Buffer {
  const textOctets = Buffer.byteLength(text);
  const beside = cargo?.length ?? 0;
  const frame = Buffer.allocUnsafe(LENGTHS + textOctets + beside);
  frame.writeUInt32LE(textOctets, 0);
  frame.writeUInt32LE(beside, 4);
  frame.write(text, LENGTHS, "utf8");
  cargo?.writeTo(frame, LENGTHS + textOctets);
  return frame;
}

/** Assembles frames from pieces of a stream, which are copied. */
export class FrameReader {
  readonly #lengths = Buffer.alloc(LENGTHS);
  /** The incomplete frame; undefined before its lengths are known. */
  #frame: Buffer | undefined;
  /** The number of octets read of the lengths or the frame. */
  #filled = 0;

  /**
   * Takes the next piece, and returns the frames that it completes.
   * @throws RangeError for an invalid frame, after which the stream cannot be read
   */
  take(piece: Buffer): readonly Frame[] {
    const frames: Frame[] = [];
    for (let at = 0; at < piece.length; ) {
      const into = this.#frame ?? this.#lengths;
      const copied = piece.copy(into, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled < into.length) break;
      this.#filled = 0;
      if (this.#frame === undefined) this.#frame = Buffer.allocUnsafe(this.#size());
      else {
        this.#frame = undefined;
        const textEnd = this.#lengths.readUInt32LE(0);
        frames.push({ text: into.toString("utf8", 0, textEnd), octets: into.subarray(textEnd) });
      }
    }
    return frames;
  }

  /** Returns the size of a frame after its lengths; its text must not be empty. */
  #size(): number {
    const text = this.#lengths.readUInt32LE(0);
    const size = text + this.#lengths.readUInt32LE(4);
    if (text === 0 || LENGTHS + size > MAX_FRAME) throw new RangeError("what came is no frame");
    return size;
  }
}

/** Encodes the errors that the other end must recognise. */
export interface FaultCodec {
  encode(error: unknown): unknown;
  decode(fault: unknown): Error;
}

/** Handles a request or a notice; an exception becomes the answer to a request. */
type LinkHandlers = Readonly<Record<string, (body: never, octets: Buffer) => unknown>>;

/** A request has a number, a notice none; an answer has the number of its request. */
interface Message {
  readonly name?: string;
  readonly number?: number;
  readonly body?: unknown;
  readonly fault?: unknown;
}

interface Pending {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The number of unread octets above which the other end is behind. */
const MAX_WAITING = 1024 * 1024;

export class Link {
  readonly #stream: Duplex;
  readonly #codec: FaultCodec;
  readonly #handlers = new Map<string, LinkHandlers[string]>();
  readonly #pending = new Map<number, Pending>();
  readonly #frames = new FrameReader();
  #number = 0;
  #outgoing: Buffer[] = [];
  #isOpen = true;
  /** Resolves once either end is gone. */
  readonly closed: Promise<void>;

  constructor(stream: Duplex, codec: FaultCodec) {
    this.#stream = stream;
    this.#codec = codec;
    stream.on("data", (chunk: Buffer) => {
      try {
        for (const { text, octets } of this.#frames.take(chunk)) {
          this.#hear(JSON.parse(text) as Message, octets);
        }
      } catch {
        stream.destroy();
      }
    });
    // Ignored, since the end of the stream is handled.
    stream.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      stream.on("end", () => stream.destroy());
      stream.on("close", () => {
        this.#fail();
        resolve();
      });
    });
  }

  /** Adds handlers for requests and notices. */
  serve(handlers: LinkHandlers): void {
    for (const [name, handler] of Object.entries(handlers)) this.#handlers.set(name, handler);
  }

  /**
   * Sends a request; rejects with the other end's error, or with LinkGoneError once it is gone. The
   * cargo is sent along as it is.
   */
  ask<Answer>(name: string, body?: unknown, cargo?: Cargo): Promise<Answer> {
    if (!this.#isOpen) return Promise.reject(new LinkGoneError());
    this.#number += 1;
    const number = this.#number;
    return new Promise<Answer>((resolve, reject) => {
      // The type is safe, since both ends are of one build.
      this.#pending.set(number, { resolve: resolve as (answer: unknown) => void, reject });
      this.#send({ name, number, body }, cargo);
    });
  }

  /** True if the other end has fallen behind, so that deferrable notices should wait. */
  get isBehind(): boolean {
    return this.#stream.writableLength > MAX_WAITING;
  }

  /** Sends a notice, which is not answered. */
  tell(name: string, body?: unknown): void {
    this.#send({ name, body });
  }

  /** Closes the link once everything is sent. */
  close(): void {
    this.#flush();
    this.#stream.end();
  }

  #send(message: Message, cargo?: Cargo): void {
    if (!this.#isOpen) return;
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush());
    this.#outgoing.push(frameOf(JSON.stringify(message), cargo));
  }

  #flush(): void {
    const frames = this.#outgoing;
    this.#outgoing = [];
    if (frames.length === 0 || !this.#isOpen || !this.#stream.writable) return;
    const [first] = frames;
    this.#stream.write(frames.length === 1 ? first : Buffer.concat(frames));
  }

  #hear({ name, number, body, fault }: Message, octets: Buffer): void {
    if (name === undefined) {
      const pending = this.#pending.get(number ?? 0);
      this.#pending.delete(number ?? 0);
      if (fault === undefined) pending?.resolve(body);
      else pending?.reject(this.#codec.decode(fault));
      return;
    }
    const answered = this.#answer(name, body, octets);
    if (number === undefined) {
      answered.catch(() => undefined);
      return;
    }
    answered
      .then((answer) => this.#send({ number, body: answer }))
      // Encoding may fail, since an answer may exceed the maximum length of a text.
      .catch((error: unknown) => this.#send({ number, fault: this.#codec.encode(error) ?? null }));
  }

  async #answer(name: string, body: unknown, octets: Buffer): Promise<unknown> {
    const handler = this.#handlers.get(name);
    if (handler === undefined) throw new Error(`nobody answers "${name}" here`);
    return handler(body as never, octets);
  }

  #fail(): void {
    this.#isOpen = false;
    for (const { reject } of this.#pending.values()) reject(new LinkGoneError());
    this.#pending.clear();
  }
}

/** Thrown if the other end is gone. */
export class LinkGoneError extends Error {
  override readonly name = "LinkGoneError";

  constructor() {
    super("the other process is gone");
  }
}
