/**
 * Decides who owns a session: its agent, with the certificate that it was used with. Certificates are
 * renewed, so any that names the agent will do; an Agent-ID header alone will not do for a certified session.
 * AGTP "Sessions"
 */
import { sessionHolderOf } from "../../dispatch/caller/own-matter.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { HaltedSession } from "../../state/registers/suspension-register.ts";

/** True if the session belongs to the caller. */
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
