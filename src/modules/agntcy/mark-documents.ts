/**
 * Marks the identities of AGNTCY agents in a deployment: where EXECUTE calls one by its name, and
 * of one that is called on no path, why.   AGTP-API §5.8.2
 */

import type { AgentDocument } from "../../identity/agent-document.ts";
import type { ConnectedAgent } from "./connect-agents.ts";

/** An agent that is served, and its identity. */
export interface IdentifiedAgent {
  readonly agent: ConnectedAgent;
  readonly document: AgentDocument;
}

/** The documents, those of the agents marked; whether the operator or this server wrote them. */
export function markDocuments(
  documents: readonly AgentDocument[],
  agents: readonly IdentifiedAgent[],
): readonly AgentDocument[] {
  return documents.map((document) => {
    const own = agents.filter((one) => one.document === document).map(({ agent }) => agent);
    const callable = own.find(({ remote }) => remote !== undefined);
    if (callable !== undefined) {
      return { ...document, executePath: callable.declared.settings.base };
    }
    const [reason] = own.flatMap(({ declared: { choice } }) =>
      choice.kind === "declared" ? [choice.reason] : [],
    );
    return reason === undefined ? document : { ...document, notCallable: reason };
  });
}
