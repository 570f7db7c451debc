/** Escalations for QUERY: a caller's own and those sent to it; all of them for operators. */
import type { QueryCaller, QueryEntry, QuerySource } from "../../dispatch/query-source.ts";
import { type Escalation, escalationView } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";

/** As many as one query looks through. */
const MAX_ENTRIES = 500;

/** The source of escalations. */
export function escalationSource(
  escalations: Pick<EscalationRegister, "list">,
  maySee: (escalation: Escalation, asker: QueryCaller) => boolean,
): QuerySource {
  return {
    name: "escalation",
    entries: async (asker) =>
      escalations
        .list()
        .filter((escalation) => maySee(escalation, asker))
        .slice(0, MAX_ENTRIES)
        .map(entryOf),
  };
}

function entryOf(escalation: Escalation): QueryEntry {
  const { escalationId, taskId = "", reason = "", status, context, decision } = escalation;
  const asked = typeof context === "string" ? context : JSON.stringify(context);
  return {
    id: escalationId,
    texts: [`escalation ${status} ${reason} ${taskId}`, asked, decision?.reason ?? ""],
    content: escalationView(escalation, Date.now()),
  };
}
