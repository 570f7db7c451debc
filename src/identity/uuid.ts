/**
 * Makes UUIDv7 identifiers: RFC 9562 §5.7 with the fixed-length counter of §6.2, so the ids of one
 * process sort in the order they were made. Every request gets several, hence randomness is drawn
 * for many at a time, and written as hex once.
 */
import { randomFillSync } from "node:crypto";
import { flatText } from "../base/kept-text.ts";

/** Hex digits of randomness at the end of an id. */
const TAIL = 12;
const POOL_BYTES = (TAIL / 2) * 1024;
const COUNTER_LIMIT = 2 ** 26;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

const HEX_HYPHEN: readonly string[] = HEX.map((digits) => `${digits}-`);

let pool = "";
let poolOffset = 0;
/** Random starts of counters. */
const starts = new Uint32Array(256);
let startsLeft = 0;
let millisecond = -1;
/** Of the time, the part that changes once in 65 seconds, and its hex digits with the hyphen. */
let span = -1;
let spanText = "";
let prefix = "";
/** A text is written piece by piece: where several ids begin with one, it is one piece. */
let isPrefixFlat = false;
/** The counter, and the hex digits of all but the last eight bits of it. */
let counter = 0;
let upper = -1;
let upperText = "";

/** A new UUIDv7 in lower case; it sorts behind every other of this process. */
export function uuidv7(): string {
  const now = Date.now();
  // RFC 9562 §6.1: where the clock steps back, the last time is kept and the counter goes on.
  if (now > millisecond) startMillisecond(now);
  else if (counter + 1 < COUNTER_LIMIT) goOn();
  else startMillisecond(millisecond + 1);
  if (counter >>> 8 !== upper) {
    upper = counter >>> 8;
    const high = 0x7000 | (upper >>> 6);
    upperText = `${hex(high >>> 8)}${hex(high & 0xff)}-${hex(0x80 | (upper & 0x3f))}`;
  }
  return prefix + (upperText + HEX_HYPHEN[counter & 0xff]!) + drawRandom();
}

function goOn(): void {
  counter += 1;
  if (isPrefixFlat) return;
  prefix = flatText(prefix);
  isPrefixFlat = true;
}

/** Makes every later id sort behind those that an earlier process made by `at`. */
export function continueIdsAfter(at: number): void {
  if (at > millisecond) startMillisecond(at);
}

function hex(byte: number): string {
  return HEX[byte]!;
}

function drawRandom(): string {
  if (poolOffset === pool.length) {
    pool = randomFillSync(Buffer.allocUnsafe(POOL_BYTES)).toString("hex");
    poolOffset = 0;
  }
  poolOffset += TAIL;
  return pool.slice(poolOffset - TAIL, poolOffset);
}

/**
 * The counter starts in the lower half of its range, so that one millisecond cannot overflow it. A server
 * of few requests begins one with nearly every id, so it is no dearer than the rest of an id.
 */
function startMillisecond(now: number): void {
  millisecond = now;
  const time = Math.trunc(now);
  const high = Math.floor(time / 0x1_0000);
  if (high !== span) {
    span = high;
    spanText = `${high.toString(16).padStart(8, "0")}-`;
  }
  const low = time - high * 0x1_0000;
  prefix = `${spanText}${hex(low >>> 8)}${hex(low & 0xff)}-`;
  isPrefixFlat = false;
  if (startsLeft === 0) startsLeft = randomFillSync(starts).length;
  startsLeft -= 1;
  counter = starts[startsLeft]! % (COUNTER_LIMIT / 2);
}
