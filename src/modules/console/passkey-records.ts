/**
 * Records that somebody's passkeys are others: in the chain of the server, with the public key, so
 * that whoever reads an approval later can say whose key signed it.   docs/console.md
 */
import { recordStreamEvents } from "../../dispatch/stream-events.ts";
import { serverChainId } from "../../state/records/server-chain.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { ConsoleContext } from "./config.ts";
import type { Passkey } from "./passkeys.ts";

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
