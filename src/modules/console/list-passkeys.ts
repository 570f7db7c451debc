/** `agtpd passkeys`: who has which, and the way on for a person who has lost them. */
import type { JsonRecord } from "../../base/json-value.ts";
import type { RecordPasskey } from "./passkey-records.ts";
import type { Passkeys } from "./passkeys.ts";

/** Lists all; `forget` names a person whose passkeys go first. @throws where that person has none */
export async function listPasskeys(
  { forget }: JsonRecord,
  { passkeys, record }: { readonly passkeys: Passkeys; readonly record: RecordPasskey },
): Promise<JsonRecord> {
  const gone = typeof forget === "string" ? passkeys.of(forget) : [];
  if (forget !== undefined && gone.length === 0) {
    throw new Error(`${JSON.stringify(forget)} has no passkey: expected a person that is listed`);
  }
  await passkeys.remove(gone.map(({ id }) => id));
  for (const passkey of gone) await record("passkey_removed", passkey, undefined);
  return {
    forgotten: gone.length,
    passkeys: passkeys.list().map(({ personId, name, createdAt, usedAt }) => ({
      ...{ person: personId, name, created_at: new Date(createdAt).toISOString() },
      used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
    })),
  };
}
