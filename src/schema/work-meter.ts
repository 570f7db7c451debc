/**
 * Meters the cost of checking a value by a schema before the work is done, so that a hostile schema
 * cannot take minutes for one value.
 */
import type { LinearRegex } from "./linear-regex.ts";

/** Thrown if a check exceeds its budget; a fault of schema and value together. */
export class WorkExceeded extends Error {}

const NANOSECONDS_PER_UNIT = 25;
const CALL_COST = 16;
const ITEM_COST = 8;
/** Higher than for items, since members are sorted and written. */
const MEMBER_COST = 64;

/**
 * The remaining units of a check, of some 25 ns each. Work that grows with the value is paid for in
 * advance.
 */
export class WorkMeter {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  spend(units: number): void {
    this.demand(units);
    this.#left -= units;
  }

  /** Throws unless this many units remain. */
  demand(units: number): void {
    if (units > this.#left) throw new WorkExceeded("the check takes too long");
  }
}

/** Spends the cost of writing out a value for a comparison. */
export function weigh(value: unknown, meter: WorkMeter): void {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === "string") meter.spend(next.length >> 3);
    if (typeof next !== "object" || next === null) continue;
    const members: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    meter.spend(1 + members.length * (Array.isArray(next) ? ITEM_COST : MEMBER_COST));
    for (const member of members) pending.push(member);
  }
}

/**
 * Tells whether a pattern matches. Mostly this takes one step a character, so the actual time is
 * charged; the worst case must be affordable in advance, and is the most that is charged.
 */
export function testMetered(regex: LinearRegex, text: string, meter: WorkMeter): boolean {
  const worst = CALL_COST + text.length * regex.size;
  meter.demand(worst);
  const startedAt = performance.now();
  const isMatching = regex.test(text);
  const elapsed = ((performance.now() - startedAt) * 1e6) / NANOSECONDS_PER_UNIT;
  meter.spend(Math.min(worst, CALL_COST + Math.ceil(elapsed)));
  return isMatching;
}
