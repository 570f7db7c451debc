/** How people hear of escalations, whoever opens them.   AGTP "ESCALATE" */
import { EscalationNews } from "../tasks/escalation-news.ts";
import type { ProtocolParts } from "./protocol-parts.ts";

/** The teller; what it cannot tell is no reason to fail. */
export function createEscalationNews({
  config,
  floor,
  log,
}: Pick<ProtocolParts, "config" | "floor" | "log">): EscalationNews {
  return new EscalationNews({
    ...{ escalations: floor.tasks.escalations, queue: floor.webhooks },
    ...{ url: config.webhooks.escalations, serverId: config.server.serverId },
    onFault: (error) => log.warn({ error }, "people could not be told of an escalation"),
  });
}
