/** Statements that are planned once, and poolers that forget them. */
import type { Pool } from "pg";
import { expect, it } from "vitest";
import { PreparedStatement } from "../../../src/state/postgres/prepared-statement.ts";

interface Asked {
  readonly name?: string;
  readonly values: readonly unknown[];
}

/** A pool that refuses named statements by a SQLSTATE. */
function makePool(code: string | undefined): { pool: Pick<Pool, "query">; asked: Asked[] } {
  const asked: Asked[] = [];
  const query = async (one: Asked): Promise<{ rows: readonly unknown[] }> => {
    asked.push(one);
    if (one.name !== undefined && code !== undefined) {
      throw Object.assign(new Error("no such statement"), { code });
    }
    return { rows: [one.values[0]] };
  };
  // Only this one of its ways to be asked is used.
  return { pool: { query } as unknown as Pick<Pool, "query">, asked };
}

it("have a name of their own, by which a connection knows them again", async () => {
  const { pool, asked } = makePool(undefined);
  for (const text of ["SELECT $1", "SELECT $1", "SELECT $1::int"]) {
    expect((await new PreparedStatement(pool, text).query([1])).rows).toEqual([1]);
  }
  const [first, again, other] = asked.map(({ name }) => name);
  expect(first).toMatch(/^agtp_[0-9a-f]{32}$/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

it.each(["26000", "42P05"])(
  "are planned each time once a connection has answered %s",
  async (code) => {
    const { pool, asked } = makePool(code);
    const statement = new PreparedStatement(pool, "SELECT $1");
    for (const value of [1, 2]) expect((await statement.query([value])).rows).toEqual([value]);
    expect(asked.map(({ name, values }) => [name !== undefined, values[0]])).toEqual([
      [true, 1],
      [false, 1],
      [false, 2],
    ]);
  },
);

it("tell of every other failure, and try nothing again", async () => {
  const { pool, asked } = makePool("40001");
  const statement = new PreparedStatement(pool, "SELECT $1");
  await expect(statement.query([1])).rejects.toThrow("no such statement");
  expect(asked).toHaveLength(1);
});
