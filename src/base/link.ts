/**
 * Questions, answers and news between two processes of one build over a stream. A message is a frame:
 * the lengths of its JSON and of octets that go with it, in 4 octets each, and then both; octets are
 * not looked at, as the characters of a JSON text would be. What one turn of the loop has to say is
 * written at once. Both ends trust each other; one that is killed within a message, or sends what is
 * none, is gone.
 */
import type { Duplex } from "node:stream";

interface Frame {
  readonly text: string;
  /** In memory that nothing else is read into. */
  readonly octets: Buffer;
}

/** Octets that go with a message, and are made where they leave from. */
export interface Cargo {
  readonly length: number;
  writeTo(frame: Buffer, at: number): void;
}

const LENGTHS = 8;
/** No message comes near it: longer ones are no frames. */
export const MAX_FRAME: number = 512 * 1024 * 1024;

/** A frame of a text, and of what goes with it. */
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

/** Puts frames together from pieces of a stream, which are copied. */
export class FrameReader {
  readonly #lengths = Buffer.alloc(LENGTHS);
  /** Of the frame that has begun; undefined before its lengths are known. */
  #frame: Buffer | undefined;
  /** So many octets are there, of the lengths or of the frame. */
  #filled = 0;

  /**
   * Takes the next piece, and answers the frames that are whole.
   * @throws RangeError where there is no frame; nothing more can be read of the stream
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

  /** The octets of a frame behind its lengths; a frame has a text. */
  #size(): number {
    const text = this.#lengths.readUInt32LE(0);
    const size = text + this.#lengths.readUInt32LE(4);
    if (text === 0 || LENGTHS + size > MAX_FRAME) throw new RangeError("what came is no frame");
    return size;
  }
}

/** Errors that the other end has to tell from others. */
export interface FaultCodec {
  encode(error: unknown): unknown;
  decode(fault: unknown): Error;
}

/** Answers a question, or hears news; what it throws is the answer of a question. */
type LinkHandlers = Readonly<Record<string, (body: never, octets: Buffer) => unknown>>;

/** A question has a number, news have none; an answer has the number of its question. */
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

/** Octets that the other end has not taken. */
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
  /** Resolves once the other end is gone, or this one has gone. */
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
    // Its end is what counts.
    stream.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      stream.on("end", () => stream.destroy());
      stream.on("close", () => {
        this.#fail();
        resolve();
      });
    });
  }

  /** Answers with these from now on, beside those before. */
  serve(handlers: LinkHandlers): void {
    for (const [name, handler] of Object.entries(handlers)) this.#handlers.set(name, handler);
  }

  /**
   * Asks the other end; rejects with what it threw, or LinkGoneError when it is gone. The cargo goes with the
   * question as it is.
   */
  ask<Answer>(name: string, body?: unknown, cargo?: Cargo): Promise<Answer> {
    if (!this.#isOpen) return Promise.reject(new LinkGoneError());
    this.#number += 1;
    const number = this.#number;
    return new Promise<Answer>((resolve, reject) => {
      // Both ends are of one build.
      this.#pending.set(number, { resolve: resolve as (answer: unknown) => void, reject });
      this.#send({ name, number, body }, cargo);
    });
  }

  /** True while more waits than an end that reads would leave: news that may wait are not told then. */
  get isBehind(): boolean {
    return this.#stream.writableLength > MAX_WAITING;
  }

  /** Tells the other end, which does not answer. */
  tell(name: string, body?: unknown): void {
    this.#send({ name, body });
  }

  /** Ends the link once everything is sent. */
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
      // An answer may be too long for any text.
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

/** Nobody answers any more. */
export class LinkGoneError extends Error {
  override readonly name = "LinkGoneError";

  constructor() {
    super("the other process is gone");
  }
}
