/**
 * Reads answers that are a sequence of items as one list: lines of JSON, JSON text sequences, and
 * event streams. A truncated or invalid item spoils the whole answer: a part is never passed off as
 * the whole.   RFC 7464, HTML "Server-sent events", OAS 3.2.0 §4.14.2.1
 */
import { EventReader, type StreamEvent } from "../base/event-stream.ts";
import { ANSWER_BOUNDS, excessInWords } from "../base/json-bounds.ts";
import { CLOSE_BRACKET, COMMA, mayBeJson, OPEN_BRACKET } from "../base/json-octets.ts";

/** The list, or the reason the octets are not one. */
type Sequence<Listed> =
  | { readonly list: Listed; readonly fault?: undefined }
  | { readonly list?: undefined; readonly fault: string };

const LINE_FEED = 0x0a;
/** Precedes each text of a sequence of RFC 7464, and occurs in no other JSON. */
const RECORD_SEPARATOR = 0x1e;

/** Joins lines of JSON, or a JSON text sequence, into one JSON list. */
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
    // A truncated number still looks complete without the whitespace after it.   RFC 7464 §2.4
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

/** The events of a finished stream; an event without a closing empty line is incomplete. */
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
