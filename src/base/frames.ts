/**
 * Frames of a stream between processes: the lengths of a text and of octets, in 4 octets each, and
 * then both. Octets are not looked at, as the characters of a JSON text would be.
 */

/** A frame that has arrived. */
export interface Frame {
  readonly text: string;
  /** Held only until the next frames are taken, unless it is copied. */
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
