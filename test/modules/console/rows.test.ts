/** Lists of any length, encoded in slices. */
import { describe, expect, it } from "vitest";
import { encodeAnswer, Rows } from "../../../src/modules/console/rows.ts";
import { countTurns } from "../../support/event-loop.ts";

const viewOf = (at: number): object => ({ name: `row ${at}`, at: new Date(at), gone: undefined });

describe("encodeAnswer", () => {
  it.each([0, 1, 3])("writes %i rows and other members as JSON has them", async (count) => {
    const numbers = Array.from({ length: count }, (_, at) => at);
    const others = { next: null, gone: undefined, 'a "name"': [1] };
    const json = await encodeAnswer({ ...others, rows: new Rows(numbers, viewOf) });
    expect(json.toString()).toBe(JSON.stringify({ ...others, rows: numbers.map(viewOf) }));
  });

  it("lets everybody else have their turn while it writes many", async () => {
    const loop = countTurns();
    const rows = Array.from({ length: 100_000 }, (_, at) => at);
    const json = await encodeAnswer({ rows: new Rows(rows, viewOf) });
    loop.stop();
    expect(JSON.parse(json.toString()).rows).toHaveLength(rows.length);
    expect(loop.turns).toBeGreaterThanOrEqual(4);
  });

  it("takes a row from its list when that one is written", async () => {
    let taken = 0;
    const rows = function* (): Generator<number> {
      for (; taken < 100_000; taken += 1) yield taken;
    };
    const answer = encodeAnswer({ rows: new Rows(rows(), viewOf) });
    expect(taken).toBeLessThan(100_000);
    expect(JSON.parse((await answer).toString()).rows).toHaveLength(100_000);
  });
});
