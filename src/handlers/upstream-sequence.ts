/**
 * Answers that are one item after another, as one list: lines of JSON, JSON text sequences, and the events of a
 * stream. An item that is cut off, or none, spoils the answer: nobody is given a part of it for the whole.
 * RFC 7464, HTML "Server-sent events", OAS 3.2.0 §4.14.2.1
 */
import { EventReader, type StreamEvent } from "../base/event-stream.ts";
import { ANSWER_BOUNDS, excessInWords } from "../base/json-bounds.ts";
import { CLOSE_BRACKET, COMMA, mayBeJson, OPEN_BRACKET } from "../base/json-octets.ts";

/** The list that the octets are, or why they are none. */
type Sequence<Listed> =
  | { readonly list: Listed; readonly fault?: undefined }
  | { readonly list?: undefined; readonly fault: string };

const LINE_FEED = 0x0a;
/** Stands before each text of a sequence of RFC 7464, and in no other JSON. */
const RECORD_SEPARATOR = 0x1e;

/** Lines of JSON, or a JSON text sequence, as the octets of one list of JSON. */
export function joinTexts(octets: Buffer): Sequence<Buffer> {
  const isMarked = octets[0] === RECORD_SEPARATOR;
  const separator = isMarked ? RECORD_SEPARATOR : LINE_FEED;
  const list = Buffer.allocUnsafe(octets.length + 2);
  let length = list.writeUInt8(OPEN_BRACKET);
  let end = 0;
  for (let from = 0; from < octets.length; from = end + 1) {
    const found = octets.indexOf(separator, from);
    end = found === -1 ? octets.length : found;
    const text = octets.subarray(from, end);
    if (text.every(isBlank)) continue;
    // Of a number that was cut off the beginning is one as well.   RFC 7464 §2.4
    if (isMarked && !isBlank(text.at(-1) ?? 0)) return { fault: "ends within an item" };
    if (!mayBeJson(text, ANSWER_BOUNDS.depth)) {
      return { fault: isMarked ? "has an item that is not JSON" : "has a line that is not JSON" };
    }
    if (length > 1) length = list.writeUInt8(COMMA, length);
    length += text.copy(list, length);
  }
  length = list.writeUInt8(CLOSE_BRACKET, length);
  return { list: list.subarray(0, length) };
}

function isBlank(octet: number): boolean {
  return octet === 0x20 || octet === 0x0a || octet === 0x0d || octet === 0x09;
}

/** The events of a stream that has ended; one that no empty line ends is none. */
export function readEvents(text: string): Sequence<readonly StreamEvent[]> {
  const list: StreamEvent[] = [];
  let fields = 0;
  for (const event of new EventReader().push(text)) {
    list.push(event);
    fields += Object.keys(event).length;
    const isMore = fields > ANSWER_BOUNDS.members;
    if (isMore) return { fault: excessInWords("members", ANSWER_BOUNDS) ?? "" };
  }
  return { list };
}
