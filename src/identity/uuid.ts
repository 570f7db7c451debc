/**
 * Makes UUIDv7 identifiers: RFC 9562 §5.7 with the fixed-length counter of §6.2, so the ids of one
 * process sort in the order they were made. Every request gets several, hence randomness is drawn
 * for many at a time, and written as hex once.
 */
import { randomFillSync } from "node:crypto";
import { flatText } from "../base/flat-text.ts";

/** Hex digits of randomness at the end of an id. */
const TAIL = 12;
const POOL_BYTES = (TAIL / 2) * 1024;
const COUNTER_LIMIT = 2 ** 26;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

let pool = "";
let poolOffset = 0;
let millisecond = -1;
let timestamp = "";
/** The id up to the counter's low part, for that high part. */
let prefix = "";
let prefixHigh = -1;
let counter = 0;

/** A new UUIDv7 in lower case; it sorts behind every other of this process. */
export function uuidv7(): string {
  const now = Date.now();
  // RFC 9562 §6.1: where the clock steps back, the last time is kept and the counter goes on.
  if (now > millisecond) startMillisecond(now);
  else if (counter + 1 < COUNTER_LIMIT) counter += 1;
  else startMillisecond(millisecond + 1);
  if (counter >>> 14 !== prefixHigh) startPrefix();
  const low = 0x8000 | (counter & 0x3fff);
  return `${prefix}${hex(low >>> 8)}${hex(low & 0xff)}-${drawRandom()}`;
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

/** The counter starts in the lower half of its range, so that one millisecond cannot overflow it. */
function startMillisecond(now: number): void {
  millisecond = now;
  const digits = Math.trunc(now).toString(16).padStart(12, "0");
  timestamp = `${digits.slice(0, 8)}-${digits.slice(8)}-`;
  prefixHigh = -1;
  counter = Number.parseInt(drawRandom(), 16) % (COUNTER_LIMIT / 2);
}

/** Every id of a millisecond has it in common, but for one in some thousands. */
function startPrefix(): void {
  prefixHigh = counter >>> 14;
  const high = 0x7000 | prefixHigh;
  prefix = flatText(`${timestamp}${hex(high >>> 8)}${hex(high & 0xff)}-`);
}
