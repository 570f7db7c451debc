/** Hosted agents in a manifest, and who may see them.   AGTP-API §8.5 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { isRecord, quoteValue } from "../../base/json-value.ts";
import { isAgentId } from "../../identity/identifiers.ts";

const DISCLOSURES = ["public", "authenticated", "private"] as const;

/** Checks the three fields; `isAnonymous` where the manifest was given to somebody unknown. */
export function checkAgents(manifest: DocumentPlace, isAnonymous: boolean): void {
  const disclosure = manifest.at("agent_disclosure").under("8.5").word(DISCLOSURES);
  manifest.at("agent_disclosure_notice").under("8.5").optional?.text();
  const list = manifest.at("hosted_agents").under("8.5");
  const agents = list.items() ?? [];
  if (agents.length > 0 && disclosure === "private") {
    list.fail(`has ${agents.length} agents, expected none under "private"`);
  }
  if (agents.length > 0 && disclosure === "authenticated" && isAnonymous) {
    list.fail(`has ${agents.length} agents, expected none for a caller without an identity`);
  }
  const seen = new Set<unknown>();
  for (const agent of agents) checkAgent(agent, seen);
}

/** Their format is the operator's; what typical entries have is looked at where it is there. */
function checkAgent(agent: DocumentPlace, seen: Set<unknown>): void {
  const { value } = agent;
  if (!isRecord(value) && typeof value !== "string") {
    agent.fail(`is ${quoteValue(value)}, expected a reference to an agent`);
    return;
  }
  const id = isRecord(value) ? agent.at("agent_id") : agent;
  if (id.isAbsent) {
    agent.warn("has no agent_id");
    return;
  }
  if (typeof id.value !== "string" || !isAgentId(id.value)) {
    id.warn(`is ${quoteValue(id.value)}, expected 64 lower-case hexadecimal digits`);
  } else if (seen.has(id.value)) id.fail("is listed twice");
  seen.add(id.value);
}
