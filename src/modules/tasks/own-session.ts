/**
 * Tells whose a session is: of the agent, over the certificate that it was used with. Certificates are
 * renewed, and one that names the agent is as good; a header alone is not the agent that came with one.
 * AGTP "Sessions"
 */
import { sessionHolderOf } from "../../dispatch/caller/own-matter.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { HaltedSession } from "../../state/registers/suspension-register.ts";

/** True if a session is the asker's own. */
export function isOwnSession(
  {
    agentId,
    tlsIdentity,
  }: Pick<HaltedSession, "agentId"> & { readonly tlsIdentity?: string | undefined },
  exchange: ExchangeView,
): boolean {
  const { caller } = exchange;
  if (caller.agentId !== agentId) return false;
  return caller.isCertified || sessionHolderOf(exchange) === tlsIdentity;
}
