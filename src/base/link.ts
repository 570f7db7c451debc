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

const LENGTHS = 8;
/** No message comes near it: longer ones are no frames. */
export const MAX_FRAME: number = 512 * 1024 * 1024;

/** A frame of a text, and of lines of ASCII, each with a line feed. */
export function frameOf(text: string, lines: readonly string[] = []): Buffer {
  const textOctets = Buffer.byteLength(text);
  let lineOctets = 0;
  for (const { length } of lines) lineOctets += length + 1;
  const frame = Buffer.allocUnsafe(LENGTHS + textOctets + lineOctets);
  frame.writeUInt32LE(textOctets, 0);
  frame.writeUInt32LE(lineOctets, 4);
  frame.write(text, LENGTHS, "utf8");
  let at = LENGTHS + textOctets;
  for (const line of lines) {
    frame.write(line, at, "latin1");
    at += line.length;
    frame[at] = LINE_FEED;
    at += 1;
  }
  return frame;
}

const LINE_FEED = 0x0a;

/** Puts frames together from pieces of a stream. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;
  /** So many octets are needed before anything can be read. */
  #needed = LENGTHS;

  /**
   * Takes the next piece, and answers the frames that are whole.
   * @throws RangeError where there is no frame; nothing more can be read of the stream
   */
  take(piece: Buffer): readonly Frame[] {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#needed) return [];
    const all = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const frames: Frame[] = [];
    let at = 0;
    let needed = neededAt(all, at);
    while (needed > LENGTHS && all.length - at >= needed) {
      const textEnd = at + LENGTHS + all.readUInt32LE(at);
      const text = all.toString("utf8", at + LENGTHS, textEnd);
      frames.push({ text, octets: all.subarray(textEnd, at + needed) });
      at += needed;
      needed = neededAt(all, at);
    }
    this.#pieces = at < all.length ? [all.subarray(at)] : [];
    this.#length = all.length - at;
    this.#needed = needed;
    return frames;
  }
}

/** The octets of the frame that begins here, as far as they are known; a frame has a text. */
function neededAt(octets: Buffer, at: number): number {
  if (octets.length - at < LENGTHS) return LENGTHS;
  const text = octets.readUInt32LE(at);
  const needed = LENGTHS + text + octets.readUInt32LE(at + 4);
  if (text === 0 || needed > MAX_FRAME) throw new RangeError("what came is no frame");
  return needed;
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
   * Asks the other end; rejects with what it threw, or when it is gone. Lines of ASCII go with the
   * question as they are, each with a line feed.
   */
  ask<Answer>(name: string, body?: unknown, lines?: readonly string[]): Promise<Answer> {
    if (!this.#isOpen) return Promise.reject(gone());
    this.#number += 1;
    const number = this.#number;
    return new Promise<Answer>((resolve, reject) => {
      // Both ends are of one build.
      this.#pending.set(number, { resolve: resolve as (answer: unknown) => void, reject });
      this.#send({ name, number, body }, lines);
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

  #send(message: Message, lines?: readonly string[]): void {
    if (!this.#isOpen) return;
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush());
    this.#outgoing.push(frameOf(JSON.stringify(message), lines));
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
    for (const { reject } of this.#pending.values()) reject(gone());
    this.#pending.clear();
  }
}

function gone(): Error {
  return new Error("the other process is gone");
}
