import { array, assert, double, jsonValue, property, record, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { encodingJson } from "../../src/base/json-pieces.ts";
import { atOnce, type Paced } from "../../src/base/paced.ts";

/** The longest text that was made in one step. */
function longestStep(work: Paced<unknown>): number {
  let longest = 0;
  const { stringify } = JSON;
  let made = 0;
  try {
    JSON.stringify = ((value: unknown) => {
      const text = stringify(value);
      made += text?.length ?? 0;
      return text;
    }) as typeof JSON.stringify;
    for (let isDone = false; !isDone; longest = Math.max(longest, made)) {
      made = 0;
      isDone = work.next().done === true;
    }
  } finally {
    JSON.stringify = stringify;
  }
  return longest;
}

describe("encodingJson", () => {
  it("has the octets that JSON.stringify has", () => {
    const large = record({
      a: array(jsonValue(), { minLength: 40 }),
      'b "': string({ minLength: 5_000 }),
    });
    const others = { gone: undefined, at: new Date(0), call: () => 1, list: [undefined, double] };
    assert(
      property(large, (value) => {
        const whole = { value, others, list: Array.from({ length: 3 }, () => value), empty: {} };
        expect(atOnce(encodingJson(whole)).toString()).toBe(JSON.stringify(whole));
      }),
      { numRuns: 30 },
    );
    for (const value of [null, 1, "é", [], {}, undefined]) {
      expect(atOnce(encodingJson(value)).toString()).toBe(JSON.stringify(value) ?? "null");
    }
  });

  it("encodes a small part of a long value in each step, however it is put together", () => {
    const texts = Array.from({ length: 20_000 }, (_, at) => `text ${at}`);
    const members = Object.fromEntries(texts.map((text) => [text, { text }]));
    const text = "é😀\n".repeat(100_000);
    for (const value of [texts, members, { deep: [{ texts }, { members }, [text]] }]) {
      const work = encodingJson(value);
      expect(longestStep(work)).toBeLessThan(100_000);
    }
  });

  it("writes a long text as a whole has it, wherever it is cut", () => {
    for (const piece of ["😀", "a😀", "ab😀", "\ud800\udc00\ud800", "\udc00", '"\n']) {
      const text = piece.repeat(40_000);
      expect(atOnce(encodingJson(text)).toString()).toBe(JSON.stringify(text));
    }
  });

  it("looks at no more of a long list than a part of it, before it is begun", () => {
    const list = Array.from({ length: 100_000 }, (_, at) => at);
    let looked = 0;
    const watched = new Proxy(list, {
      get: (target, name) => {
        looked += 1;
        return Reflect.get(target, name);
      },
      ownKeys: () => {
        throw new Error("the names of all items are made");
      },
    });
    encodingJson(watched).next();
    expect(looked).toBeLessThan(list.length / 2);
  });
});
