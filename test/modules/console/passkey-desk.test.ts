/** Passkeys that go: none without a record that says so. */
import { expect, it } from "vitest";
import { listPasskeys, type PasskeyDesk } from "../../../src/modules/console/passkey-desk.ts";
import { openPasskeys } from "../../../src/modules/console/passkeys.ts";
import { passkeyRoutes } from "../../../src/modules/console/views/passkeys.ts";
import { Collection } from "../../../src/state/collection.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";

const NINA = "link:Nina";

/** A desk with a passkey of Nina's, where no record can be written. */
async function deskWithoutJournal(): Promise<PasskeyDesk> {
  const store = createMemoryStore();
  const passkeys = await openPasskeys({ collection: (options) => Collection.open(store, options) });
  await passkeys.add("k1", {
    ...{ id: "k1", personId: NINA, name: "a key", publicKey: "", jwk: {}, counter: 0 },
    ...{ transports: [], createdAt: 1 },
  });
  const record = () => Promise.reject(new Error("the journal cannot be written"));
  const ceremonies = async () => ({ endSignature: async () => ({}) });
  return { passkeys, record, ceremonies } as unknown as PasskeyDesk;
}

it("stays where its going cannot be recorded, by the control socket and by its person", async () => {
  const desk = await deskWithoutJournal();
  await expect(listPasskeys({ forget: NINA }, desk)).rejects.toThrow("the journal");
  expect(desk.passkeys.ofOwner(NINA)).toHaveLength(1);
  const routes = passkeyRoutes({ desk } as never);
  const remove = routes.find(({ method, path }) => method === "POST" && path === "/passkeys/:id");
  const person = { id: NINA, name: "Nina", role: "operator", via: "link" };
  const asked = {
    ...{ params: { id: "k1" }, body: { action: "remove", assertion: {} } },
    signedIn: { person, token: "" },
  };
  await expect(remove?.answer(asked as never)).rejects.toThrow("the journal");
  expect(desk.passkeys.ofOwner(NINA)).toHaveLength(1);
});
