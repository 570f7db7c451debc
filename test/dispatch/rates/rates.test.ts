import { describe, expect, it } from "vitest";
import { Rates } from "../../../src/dispatch/rates/rates.ts";

const WORK = { requestsPerSecond: 0, workMsPerSecond: 200 };
const REQUESTS = { requestsPerSecond: 5, workMsPerSecond: 0 };
const payer = (): string => "a";

// `[limits] work_ms_per_second`
describe("the work of a payer", () => {
  it("may be two seconds' worth at once, and then what runs off", () => {
    const rates = new Rates(WORK);
    rates.charge("a", 399, 0);
    expect(rates.admit(payer, 0)).toBeUndefined();
    rates.charge("a", 1, 0);
    expect(rates.admit(payer, 0)).toEqual({ scope: "work", retryAfterSeconds: 1 });
    expect(rates.admit(payer, 5)).toBeUndefined();
  });

  it("is over after as many seconds as the refusal says", () => {
    const rates = new Rates(WORK);
    rates.charge("a", 1_500, 0);
    const { retryAfterSeconds = 0 } = rates.admit(payer, 0) ?? {};
    expect(retryAfterSeconds).toBe(6);
    expect(rates.admit(payer, 1000 * retryAfterSeconds - 600)).toBeDefined();
    expect(rates.admit(payer, 1000 * retryAfterSeconds)).toBeUndefined();
  });

  it("in the long run takes its share of the loop and no more", () => {
    const rates = new Rates(WORK);
    let taken = 0;
    for (let now = 0; now < 60_000; now += 10) {
      if (rates.admit(payer, now) !== undefined) continue;
      rates.charge("a", 8, now);
      taken += 8;
    }
    expect(taken / 60).toBeGreaterThan(195);
    expect(taken / 60).toBeLessThan(215);
  });

  it("is nobody else's", () => {
    const rates = new Rates(WORK);
    rates.charge("a", 10_000, 0);
    expect(rates.admit(() => "b", 0)).toBeUndefined();
  });

  it("keeps nobody waiting for more than a minute", () => {
    const rates = new Rates(WORK);
    rates.charge("a", 1e9, 0);
    expect(rates.admit(payer, 0)?.retryAfterSeconds).toBeLessThanOrEqual(60);
  });

  it("is not counted where there is no limit", () => {
    const rates = new Rates({ requestsPerSecond: 0, workMsPerSecond: 0 });
    rates.charge("a", 1e9, 0);
    expect(rates.admit(payer, 0)).toBeUndefined();
  });

  it("asks for no name while nobody has taken anything", () => {
    const rates = new Rates(WORK);
    const unasked = (): string => {
      throw new Error("asked");
    };
    expect(rates.admit(unasked, 0)).toBeUndefined();
    rates.charge("a", 5, 0);
    expect(() => rates.admit(unasked, 1)).toThrow("asked");
    rates.admit(() => "b", 70_000);
    expect(rates.admit(unasked, 140_000)).toBeUndefined();
  });
});

// `[limits] requests_per_second`
describe("the requests of a payer", () => {
  it("are so many in a second, however they are spread", () => {
    const rates = new Rates(REQUESTS);
    const admitted = (now: number): number =>
      Array.from({ length: 20 }, () => rates.admit(payer, now)).filter((one) => one === undefined)
        .length;
    expect(admitted(0)).toBe(5);
    expect(admitted(0)).toBe(0);
    expect(admitted(200)).toBe(1);
    expect(admitted(10_000)).toBe(5);
  });

  it("are not counted when they are refused", () => {
    const rates = new Rates({ requestsPerSecond: 1, workMsPerSecond: 0 });
    expect(rates.admit(payer, 0)).toBeUndefined();
    for (let now = 0; now < 900; now += 1) {
      expect(rates.admit(payer, now)).toEqual({ scope: "requests", retryAfterSeconds: 1 });
    }
    expect(rates.admit(payer, 1000)).toBeUndefined();
  });
});

describe("the accounts", () => {
  it("follow a reload: what was taken stays taken, under the new limits", () => {
    const rates = new Rates(WORK);
    rates.charge("a", 1_000, 0);
    rates.limit({ requestsPerSecond: 0, workMsPerSecond: 1000 });
    expect(rates.admit(payer, 0)).toBeUndefined();
    rates.limit({ requestsPerSecond: 0, workMsPerSecond: 10 });
    expect(rates.admit(payer, 0)).toMatchObject({ scope: "work" });
    rates.limit({ requestsPerSecond: 0, workMsPerSecond: 0 });
    expect(rates.admit(payer, 0)).toBeUndefined();
  });

  it("hold a million addresses in bounded memory, and whoever comes again among them", () => {
    const rates = new Rates(REQUESTS);
    let refused = 0;
    for (let at = 0; at < 1_000_000; at += 1) {
      rates.admit(() => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, at / 1000);
      if (at % 1000 === 0 && rates.admit(payer, at / 1000) !== undefined) refused += 1;
    }
    // A second, in which five of a thousand are admitted and some more by and by.
    expect(refused).toBeGreaterThan(980);
    expect(rates.size).toBeLessThanOrEqual(100_000);
  });
});
