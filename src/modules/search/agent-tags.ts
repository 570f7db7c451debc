/** The abilities of an agent, by name: skills, capabilities, modalities and tools; and methods. */

import { isRecord } from "../../base/json-value.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";

const MEMBERS = ["capabilities", "skills", "modalities", "tools"] as const;
const MAX_TAGS = 256;

/** The names in its document, in order; none for nobody. */
export function agentTags(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { document } = agent;
  return MEMBERS.flatMap((member) => namesIn(document[member])).slice(0, MAX_TAGS);
}

/** The methods that its document says it works with; none for nobody. */
export function methodsOf(agent: AgentDocument | undefined): readonly string[] {
  const requires = agent?.document["requires"];
  return isRecord(requires) ? namesIn(requires["methods"]).slice(0, MAX_TAGS) : [];
}

/** Texts, and of objects their name and tags. */
function namesIn(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (!isRecord(item)) return typeof item === "string" ? [item] : [];
    const { name, id, tags } = item;
    const others: readonly unknown[] = Array.isArray(tags) ? tags : [];
    return [name, id, ...others].filter((one): one is string => typeof one === "string");
  });
}
