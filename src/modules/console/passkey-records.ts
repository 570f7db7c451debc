/**
 * Records that somebody's passkeys are others: in the chain of the server, with the public key, so
 * that whoever reads an approval later can say whose key signed it.   docs/console.md
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { recordStreamEvents } from "../../dispatch/stream-events.ts";
import { serverChainId } from "../../state/records/record.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { ConsoleContext } from "./config.ts";
import type { Passkey, Passkeys } from "./passkeys.ts";

export type PasskeyChange = "passkey_registered" | "passkey_removed";

/** Writes one record; `operator` is undefined where the control socket was asked. */
export type RecordPasskey = (
  change: PasskeyChange,
  passkey: Passkey,
  operator: Operator | undefined,
) => Promise<void>;

const LOGGED = {
  passkey_registered: "console-passkey-registered",
  passkey_removed: "console-passkey-removed",
} as const;

/** Records, and logs. Rejects where the record cannot be kept. */
export function recordingPasskeys(context: ConsoleContext): RecordPasskey {
  const record = recordStreamEvents(context);
  const agentId = serverChainId(context.config.server.serverId);
  return async (change, { id, personId, name, jwk }, operator) => {
    const about = { method: "POST", path: "/api/passkeys" };
    const said = operator === undefined ? { via: "control-socket" } : { operator };
    const passkey = { person: personId, name, credential_id: id, public_key: jwk };
    await record([{ agentId, extension: { event_type: change, ...passkey, ...said }, about }]);
    const event = LOGGED[change];
    context.log.info({ event, passkey: id, person: personId }, "somebody's passkeys are others");
  };
}

/** `agtpd passkeys`, the way on for a person who has lost them: lists all; `forget` names a person whose passkeys go first. @throws where that person has none */
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
