/** A key of the HTTP API at two nodes: what the second hears while it is at the same. */
import { expect, it } from "vitest";
import { answer } from "../../../../src/modules/openwop/http/answer.ts";
import { Idempotency } from "../../../../src/modules/openwop/http/idempotency.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";

type Execute = Parameters<Idempotency["run"]>[1];

const request = (key: string) => ({ tenant: "acme", operation: "runs", key, digest: "d" });

it("does nothing twice where a node hears of the key while it is about to keep it", async () => {
  const store = createMemoryStore();
  const [one, other] = [await Idempotency.open(store), await Idempotency.open(store)];
  const done: string[] = [];
  const doing =
    (name: string): Execute =>
    async (keep) => {
      const said = answer({ name });
      const changes = keep(said);
      const expectations = changes.map(({ collection, key, expected = 0 }) => {
        return { collection, key, revision: expected };
      });
      const { kind } = await store.commit(changes, expectations);
      if (kind === "committed") done.push(name);
      return said;
    };
  const late = other.run(
    request("k"),
    async (keep) => {
      await one.run(request("k"), doing("first"), {});
      // With it the node hears of all keys.
      await other.run(request("another"), doing("another"), {});
      return doing("second")(keep);
    },
    {},
  );
  expect((await late).body).toEqual({ name: "first" });
  expect(done).toEqual(["first", "another"]);
});
