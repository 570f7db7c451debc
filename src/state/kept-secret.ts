/** Secrets with which this server signs for itself, generated once per store and kept in it. */
import { randomBytes } from "node:crypto";
import { textIn } from "../base/json-value.ts";
import { Collection } from "./collection.ts";
import type { Store } from "./store.ts";

interface SecretPlace {
  readonly collection: string;
  readonly key: string;
}

/** Returns the secret of 32 octets at this place, generating it if there is none. */
export async function openSecret(store: Store, { collection, key }: SecretPlace): Promise<Buffer> {
  const secrets = await Collection.open(store, { name: collection, read: textIn });
  const fresh = randomBytes(32).toString("base64");
  const known = secrets.get(key);
  // If two processes generate it at once, both use the first.
  const adding = known === undefined ? await secrets.add(key, fresh) : undefined;
  const secret = adding !== undefined && adding.kind !== "full" ? adding.item : (known ?? fresh);
  return Buffer.from(secret, "base64");
}
