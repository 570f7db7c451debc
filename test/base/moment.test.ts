import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readMoment } from "../../src/base/duration.ts";

const NOW = Date.parse("2030-05-04T12:00:00Z");

// AGTP "ESCALATE", "SUSPEND"
describe("readMoment", () => {
  it.each<[unknown, string]>([
    ["2030-05-04T13:00:00Z", "2030-05-04T13:00:00.000Z"],
    ["2030-05-04t13:00:00.250z", "2030-05-04T13:00:00.250Z"],
    ["2030-05-04T13:00Z", "2030-05-04T13:00:00.000Z"],
    ["2030-05-04T13:00:00+02:00", "2030-05-04T11:00:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
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
