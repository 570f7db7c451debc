/**
 * Tells which agent a response speaks for, and the header fields that say with what standing: the
 * agent that the request names, else the caller where it is hosted here, else the configured
 * default. AGTP "Response Headers", AGTP-TRUST "Trust Posture Loading"
 */
import { flatText } from "../../base/flat-text.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { fieldLines } from "../../wire/serialize.ts";
import type { Exchange } from "../exchange.ts";

/** The lines of Owner-ID, Trust-Tier, Verification-Path and Trust-Warning. */
export type StandingFields = (exchange: Exchange) => string;

/** Makes the lines of an agent once, when a response first speaks for it. */
export function createStandingFields(
  directory: AgentDirectory,
  defaultAgent: AgentDocument | undefined,
): StandingFields {
  const lines = new Map<AgentDocument, string>();
  return ({ addressed, caller }) => {
    const agent = addressed ?? caller.document ?? defaultAgent;
    if (agent === undefined) return "";
    const known = lines.get(agent);
    if (known !== undefined) return known;
    // Only of agents that stay: a peer's are made for each request.
    if (directory.find(agent.agentId) !== agent) return "";
    const made = standingLines(agent);
    lines.set(agent, made);
    return made;
  };
}

function standingLines(agent: AgentDocument): string {
  const { ownerId, trustTier, verificationPath, trustWarning } = agent;
  const fields: (readonly [string, string])[] = [];
  if (ownerId !== undefined) fields.push(["Owner-ID", ownerId]);
  fields.push(["Trust-Tier", String(trustTier)], ["Verification-Path", verificationPath]);
  if (trustWarning !== undefined) fields.push(["Trust-Warning", trustWarning]);
  return flatText(fieldLines(fields));
}
