/**
 * An agent's own things are shown to the agent itself, and to nobody who has it act: delegated work
 * finds what is the same for everybody, and no inbox, no runs.   AGTP "QUERY", AGTP "DELEGATE"
 */
import type { QuerySource } from "../../dispatch/query-source.ts";

/** A source that has nothing for delegated work. */
export function firstHand(source: QuerySource): QuerySource {
  return {
    name: source.name,
    entries: async (asker) => (asker.caller.delegation === undefined ? source.entries(asker) : []),
  };
}
