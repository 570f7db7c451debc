import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { synonymsOf } from "../../../src/modules/search/confidence.ts";
import { wordsOf } from "../../../src/modules/search/words.ts";
import { cpuMs } from "../../support/cpu-time.ts";

describe("wordsOf", () => {
  it.each([
    ["Reservations reserving reserve reserved", "reserv"],
    ["cancellation cancelled cancels canceling", "cancel"],
    ["available availability", "availabl"],
    ["payments pay paying payment", "pay"],
    ["booking booked books bookings", "book"],
    ["ship shipping shipped ships", "ship"],
    ["city Cities CITY", "city"],
    ["réserver RÉSERVER reserver", "reserver"],
  ])("brings the forms of a word together: %s", (text, word) => {
    expect(new Set(wordsOf(text))).toEqual(new Set([word]));
  });

  it.each([
    ["process", "business", "status", "gas"],
    ["ring", "string", "thing"],
    ["red", "bed", "feed"],
    ["station", "ration"],
  ])("leaves short words and their likes alone: %s", (...words) => {
    for (const word of words) expect(wordsOf(word)).toEqual([word]);
  });

  it.each([
    ["guestId customer_id /rooms/{room_type}", "guest customer room room type"],
    ["I want to book a room, please!", "book room"],
    ["Zimmer für zwei Personen", "zimmer fur zwei personen"],
    ["予約する room予約", "予約 約す する room 予約"],
    ["ＦＵＬＬ ｗｉｄｔｈ", "full width"],
    ["Ünïcödé", "unicod"],
    ["غرفة الفندق", "غرفة الفندق"],
    ["🙂 ?! -- ...", ""],
    ["__proto__ constructor", "proto constructor"],
  ])("takes %j apart", (text, words) => {
    expect(wordsOf(text).join(" ")).toBe(words);
  });

  it("throws for no text, and gives what it is given back unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) {
          expect(word).not.toMatch(/\s/);
          expect(word.length).toBeGreaterThan(0);
        }
      }),
    );
  });

  it("takes a text of any length in linear time", () => {
    for (const unit of ["a", "aB", "é", "予", "\u0301", " a", "ing", "\ud800", "ﷺ"]) {
      const startedAt = cpuMs();
      wordsOf(unit.repeat(100_000));
      expect(cpuMs() - startedAt, unit).toBeLessThan(2000);
    }
  });
});

describe("synonymsOf", () => {
  it("goes both ways, and no word is its own", () => {
    for (const [one = "", other = ""] of [wordsOf("buy purchases"), wordsOf("reserve booking")]) {
      expect(synonymsOf(one).has(other)).toBe(true);
      expect(synonymsOf(other).has(one)).toBe(true);
      expect(synonymsOf(one).has(one)).toBe(false);
    }
    expect(synonymsOf("constructor").size).toBe(0);
  });
});
