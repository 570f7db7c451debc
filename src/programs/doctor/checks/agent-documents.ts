/**
 * Agents whose documents are over or nearly so, by their own word: the drafts have no such member,
 * so that the daemon serves them all the same; and agents that are hosted and no longer active.
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import type { Check, Observation } from "../finding.ts";

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;
/** How issuers write the end of a document. */
const ENDS = ["expires_at", "expires", "valid_until", "not_after"];

/** The check `agent-documents`. */
export const agentDocuments: Check = {
  id: "agent-documents",
  asks: "are the documents of agents still good?",
  look: ({ agents, machine: { now } }) =>
    agents.flatMap((agent) => [
      ...checkEnd(agent.file, agent.document, now),
      ...(agent.genesis === undefined
        ? []
        : checkEnd(agent.genesis.file, agent.genesis.document, now)),
      ...checkStatus(agent),
    ]),
};

function checkEnd(file: string, document: JsonRecord, now: number): readonly Observation[] {
  return ENDS.flatMap((key): readonly Observation[] => {
    const written = document[key];
    const end = typeof written === "string" ? Date.parse(written) : Number.NaN;
    if (Number.isNaN(end) || end - now >= SOON_MS) return [];
    const place = { file, key };
    const date = new Date(end).toISOString();
    if (end <= now) {
      const message = `was over at ${date}; the daemon does not look at it and serves the agent`;
      const remedy = "have the issuer sign a new document, or take the file away";
      return [{ ...place, severity: "error", message, remedy }];
    }
    const message = `will be over at ${date}`;
    return [
      { ...place, severity: "warning", message, remedy: "have the issuer sign a new document" },
    ];
  });
}

function checkStatus({ file, status }: AgentDocument): readonly Observation[] {
  if (status === "active") return [];
  const message = `is "${status}" and still hosted here`;
  const remedy = "take the file away, unless its history is to be looked up here";
  return [{ severity: "note", file, key: "status", message, remedy }];
}
