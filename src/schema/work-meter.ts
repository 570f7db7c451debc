/**
 * The cost of checking a value by a schema, paid for before the work is done: it keeps a hostile schema from
 * judging one value for minutes.
 */
import type { LinearRegex } from "./linear-regex.ts";

/** A check costs more than it may; a fault of the schema together with the value. */
export class WorkExceeded extends Error {}

const NANOSECONDS_PER_UNIT = 25;
const CALL_COST = 16;
const ITEM_COST = 8;
/** Members are sorted and written. */
const MEMBER_COST = 64;

/** The units that a check may still cost; one is some 25 ns. Work that grows with the value is paid for first. */
export class WorkMeter {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  spend(units: number): void {
    this.demand(units);
    this.#left -= units;
  }

  /** Makes sure that so much could be spent. */
  demand(units: number): void {
    if (units > this.#left) throw new WorkExceeded("the check takes too long");
  }
}

/** Spends for the whole of a value, before it is written out to be compared with others. */
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
 * Tells whether a pattern matches. Nearly always that takes a step a character and no more, so the
 * time is measured; what it could take at worst must be there before, and is all that it costs.
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
