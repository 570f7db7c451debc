/** The drivers are one store to whoever uses them, whatever is done in whatever order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Change, Expectation, ListRange, Store } from "../../src/state/store.ts";
import { openTestStore } from "../support/store.ts";

const name = fc.string({
  unit: fc.constantFrom("a", "b", ":", "é", "\uffff", "😀", "\u{10ffff}"),
  minLength: 1,
  maxLength: 3,
});
const collection = fc.constantFrom("agents", "__proto__");
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), collection, key: name, value: fc.jsonValue() }),
  fc.record({ kind: fc.constant("delete" as const), collection, key: name }),
);
const range: fc.Arbitrary<ListRange> = fc.record(
  {
    prefix: fc.oneof(name, fc.constant("")),
    after: name,
    limit: fc.nat({ max: 5 }),
    isReversed: fc.boolean(),
  },
  { requiredKeys: [] },
);

type Operation = (store: Store) => Promise<unknown>;

/** Most of them hold: a store that nothing is committed to shows nothing. */
const expectation: fc.Arbitrary<Expectation> = fc.record({
  ...{ collection, key: name },
  revision: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat({ max: 400 })),
});

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.array(change, { maxLength: 6 }), fc.array(expectation, { maxLength: 1 }))
      .map(
        ([changes, expectations]): Operation =>
          (store) =>
            store.commit(changes, expectations),
      ),
  },
  fc.nat({ max: 400 }).map(
    (after): Operation =>
      (store) =>
        store.changes(after),
  ),
  fc.tuple(collection, name).map(
    ([of, key]): Operation =>
      (store) =>
        store.get(of, key),
  ),
  fc.tuple(collection, range).map(
    ([of, where]): Operation =>
      (store) =>
        store.list(of, where),
  ),
);

describe("the drivers of the store", () => {
  it("answer the same", async () => {
    const memory = await openTestStore("memory");
    const sqlite = await openTestStore("sqlite");
    // The two live on from run to run, so that the collections fill up.
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
        const run = (store: Store): Promise<readonly unknown[]> =>
          Promise.all(operations.map((operate) => operate(store)));
        expect(await run(sqlite)).toEqual(await run(memory));
        for (const of of ["agents", "__proto__"]) {
          expect(await sqlite.list(of)).toEqual(await memory.list(of));
        }
      }),
    );
  });
});
