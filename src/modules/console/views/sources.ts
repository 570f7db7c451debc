/** Dependencies of the pages of a served deployment. */
import type { AssembledDeployment } from "../../../dispatch/module/module.ts";
import type { Ed25519PublicKey } from "../../../identity/ed25519.ts";
import type { ConsoleContext } from "../config.ts";
import type { PasskeyDesk } from "../passkey-desk.ts";
import type { Traffic } from "../traffic.ts";

export interface Sources
  extends Pick<ConsoleContext, "state" | "directory" | "mcpServers" | "processes"> {
  readonly serverId: string;
  /** Undefined if records are not signed. */
  readonly publicKey: Ed25519PublicKey | undefined;
  readonly traffic: Traffic;
  readonly desk: PasskeyDesk;
  served(): AssembledDeployment;
}
