import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grantDuration, readDuration, readMoment } from "../../src/base/duration.ts";

// AGTP "PROPOSE"
describe("readDuration", () => {
  it.each([
    [3600, 3600],
    ["90s", 90],
    ["24h", 86_400],
    ["7d", 604_800],
    ["2W", 1_209_600],
    ["P7D", 604_800],
    ["PT36H", 129_600],
    ["P1DT1H1M1S", 90_061],
  ])("takes %j for %d seconds", (written, seconds) => {
    expect(readDuration(written)).toBe(seconds);
  });

  it.each([
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "",
    "0h",
    "P",
    "PT",
    "soon",
    "1y",
    "1h30",
    {},
  ])("takes %j for none", (written) => {
    expect(readDuration(written)).toBeUndefined();
  });
});

describe("grantDuration", () => {
  const limits = { usual: 100, most: 1000 };

  it("grants what is asked for, within what is granted to anybody", () => {
    expect(grantDuration(50, limits)).toBe(50);
    expect(grantDuration(5000, limits)).toBe(1000);
    expect(grantDuration(undefined, limits)).toBe(100);
    expect(grantDuration(12.7, limits)).toBe(12);
    expect(grantDuration(0.2, limits)).toBe(1);
  });
});

const NOW = Date.parse("2030-05-04T12:00:00Z");

// AGTP "ESCALATE", "SUSPEND"
describe("readMoment", () => {
  it.each<[unknown, string]>([
    ["2030-05-04T13:00:00Z", "2030-05-04T13:00:00.000Z"],
    ["2030-05-04t13:00:00.250z", "2030-05-04T13:00:00.250Z"],
    ["2030-05-04T13:00Z", "2030-05-04T13:00:00.000Z"],
    ["2030-05-04T13:00:00+02:00", "2030-05-04T11:00:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["2030-06-30T23:59:60Z", "2030-07-01T00:00:00.000Z"],
    ["PT1H", "2030-05-04T13:00:00.000Z"],
    ["24h", "2030-05-05T12:00:00.000Z"],
    [90, "2030-05-04T12:01:30.000Z"],
  ])("reads %j", (written, expected) => {
    expect(new Date(readMoment(written, NOW) ?? 0).toISOString()).toBe(expected);
  });

  it.each([
    ...["", "soon", "2030-05-04", "2030-05-04T13:00:00", "2030-02-31T00:00:00Z", "-1", "P"],
    ...["2030-05-04T24:00:00Z", "2030-13-01T00:00:00Z", "2030-05-04T13:00:00+25:99"],
    ...["2030-05-04T13:00:00Z ", "12030-05-04T13:00:00Z", 0, -1, Number.NaN, null, {}, [], true],
  ])("takes %j for no moment", (written) => {
    expect(readMoment(written, NOW)).toBeUndefined();
  });

  it("reads back every timestamp", () => {
    const dates = fc.date({
      min: new Date("2000-01-01"),
      max: new Date("2100-01-01"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, (date) => {
        expect(readMoment(date.toISOString(), NOW)).toBe(date.getTime());
      }),
    );
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.anything(), (written) => void readMoment(written, NOW)));
  });
});
