/**
 * Generates UUIDv7 identifiers: RFC 9562 §5.7 with the fixed-length counter of §6.2, so the ids of
 * one process sort in order of creation. Every request needs several, so random octets are drawn
 * and hex-encoded in bulk.
 */
import { randomFillSync } from "node:crypto";
import { flatText } from "../base/kept-text.ts";

/** The number of random hex digits at the end of an id. */
const TAIL = 12;
const POOL_BYTES = (TAIL / 2) * 1024;
const COUNTER_LIMIT = 2 ** 26;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

const HEX_HYPHEN: readonly string[] = HEX.map((digits) => `${digits}-`);

let pool = "";
let poolOffset = 0;
/** Random start values of counters. */
const starts = new Uint32Array(256);
let startsLeft = 0;
let millisecond = -1;
/** The high part of the time, which changes every 65 seconds, and its hex digits with the hyphen. */
let span = -1;
let spanText = "";
let prefix = "";
/** True once `prefix` is flat; V8 builds it as a rope, so it is flattened when a second id uses it. */
let isPrefixFlat = false;
/** The counter, and the hex digits of all but its last eight bits. */
let counter = 0;
let upper = -1;
let upperText = "";

/** Generates a UUIDv7 in lower case; it sorts after every earlier one of this process. */
export function uuidv7(): string {
  const now = Date.now();
  // RFC 9562 §6.1: if the clock steps back, the last time is kept and the counter continues.
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

/** Makes later ids sort after those that an earlier process made by `at`. */
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
 * The counter starts in the lower half of its range, so that a millisecond cannot overflow it. On a
 * server with few requests nearly every id starts a millisecond, so starting one costs no more than
 * the rest of an id.
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
