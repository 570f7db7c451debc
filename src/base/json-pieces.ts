/** Encodes long JSON values in small steps, since encoding one at once would block the event loop. */
import { isRecord, type JsonRecord } from "./json-value.ts";
import { joining, PieceWriter } from "./octet-pieces.ts";
import type { Paced } from "./paced.ts";

/** The approximate number of characters encoded per step. */
const PART = 16_384;
/** The length up to which values are encoded at once. */
const LONG = 4 * PART;
/** The estimated length of a number, or of the syntax around a value. */
const SHORT = 8;

/** Encodes a value like `JSON.stringify`, including its exceptions. */
export function* encodingJson(value: unknown): Paced<Buffer> {
  const writer = new PieceWriter();
  yield* writingJson(writer, value);
  return yield* joining(writer.end());
}

function* writingJson(writer: PieceWriter, value: unknown): Paced<void> {
  if (Array.isArray(value) && isLarge(value)) {
    yield* writingItems(writer, value);
  } else if (isPlain(value) && isLarge(value)) {
    yield* writingMembers(writer, value);
  } else if (typeof value === "string") {
    yield* writingText(writer, value);
  } else {
    writer.add(JSON.stringify(value) ?? "null");
    yield;
  }
}

function* writingText(writer: PieceWriter, text: string): Paced<void> {
  writer.add('"');
  for (let at = 0; at < text.length; ) {
    // A split surrogate pair would be written as escapes.
    const isInPair = (text.codePointAt(at + PART - 1) ?? 0) > 0xffff;
    const end = at + PART + (isInPair ? 1 : 0);
    writer.add(JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
    yield;
  }
  writer.add('"');
}

function* writingItems(writer: PieceWriter, list: readonly unknown[]): Paced<void> {
  let before = "[";
  for (const part of partsOf(list)) {
    if ("large" in part) {
      writer.add(before);
      yield* writingJson(writer, part.large);
    } else writer.add(before + JSON.stringify(part.small).slice(1, -1));
    before = ",";
    yield;
  }
  writer.add("]");
}

function* writingMembers(writer: PieceWriter, record: JsonRecord): Paced<void> {
  let before = "{";
  for (const part of partsOf(Object.entries(record))) {
    if ("large" in part) {
      const [name, item] = part.large;
      writer.add(`${before}${JSON.stringify(name)}:`);
      yield* writingJson(writer, item);
    } else {
      const members = JSON.stringify(Object.fromEntries(part.small)).slice(1, -1);
      // JSON omits undefined members.
      if (members === "") continue;
      writer.add(before + members);
    }
    before = ",";
    yield;
  }
  writer.add(before === "{" ? "{}" : "}");
}

/** A run of small entries, or a single large one. */
type Part<Entry> = { readonly small: readonly Entry[] } | { readonly large: Entry };

function* partsOf<Entry>(entries: readonly Entry[]): Generator<Part<Entry>> {
  let small: Entry[] = [];
  let room = PART;
  for (const entry of entries) {
    const size = PART - roomAfter(entry, PART);
    if (size > room && small.length > 0) {
      yield { small };
      small = [];
      room = PART;
    }
    if (size > PART) yield { large: entry };
    else {
      small.push(entry);
      room -= size;
    }
  }
  if (small.length > 0) yield { small };
}

/** Tells whether a value is an object without a `toJSON` of its own. */
function isPlain(value: unknown): value is JsonRecord {
  return isRecord(value) && typeof value["toJSON"] !== "function";
}

/**
 * Tells whether a value is worth encoding in steps, since at once it takes a tenth of a millisecond
 * or more.
 */
export function isLongJson(value: object): boolean {
  return roomAfter(value, LONG) < 0;
}

function isLarge(value: object): boolean {
  return roomAfter(value, PART) < 0;
}

/** Tells whether a value consists of more values than this, including itself. */
export function hasMoreValues(value: unknown, most: number): boolean {
  return roomAfter(value, most, COUNTED) < 0;
}

/** The size of a value, and of each character of its text. */
interface Sizes {
  readonly value: number;
  readonly character: number;
}

const ENCODED: Sizes = { value: SHORT, character: 1 };
const COUNTED: Sizes = { value: 1, character: 0 };

/** Returns the room left after a value; negative if it is too large. */
function roomAfter(value: unknown, room: number, sizes: Sizes = ENCODED): number {
  let left = room - sizes.value;
  if (typeof value === "string") return left - sizes.character * value.length;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    // By index, since `for…in` would first build the names of all items.
    for (let at = 0; at < value.length && left >= 0; at += 1) {
      left = roomAfter(value[at], left, sizes);
    }
    return left;
  }
  for (const name in value) {
    if (left < 0) break;
    left = roomAfter((value as JsonRecord)[name], left - sizes.character * name.length, sizes);
  }
  return left;
}
