import { describe, expect, it } from "vitest";
import type { AgentStanding } from "../../../src/identity/agent-document.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import { statusDocument } from "../../../src/modules/discovery/describe.ts";
import { agentFile } from "../../support/deployment.ts";

const AGENT_ID = "a".repeat(64);
const NOW = Date.UTC(2030, 0, 1);

function describeStatus(
  members: Readonly<Record<string, unknown>>,
  standing: Partial<AgentStanding> = {},
) {
  const text = agentFile({ agent_id: AGENT_ID, name: "alice", ...members });
  const { document } = readAgentFile(text, "alice.agent.json");
  if (document === undefined) throw new Error("the document is not good");
  const idle: AgentStanding = {
    statusOf: ({ status }) => status,
    statusSince: () => undefined,
    lastAction: () => Promise.resolve(undefined),
  };
  return statusDocument(document, { ...idle, ...standing }, () => NOW);
}

// AGTP "Status Sub-Resource"
describe("statusDocument", () => {
  it("leaves out what is not known", async () => {
    expect(await describeStatus({ org_domain: 7, cert_status: null })).toEqual({
      document_type: "agtp-status",
      canonical_id: AGENT_ID,
      agent_label: "alice",
      lifecycle_state: "active",
      generated_at: "2030-01-01T00:00:00.000Z",
    });
  });

  it("says how the agent stands, since when, and what it did last", async () => {
    const document = await describeStatus(
      { org_domain: "acme.example", cert_status: "valid" },
      {
        statusOf: () => "suspended",
        statusSince: () => "2029-12-31T00:00:00.000Z",
        lastAction: async (agentId) =>
          agentId === AGENT_ID ? { method: "BOOK", at: NOW } : undefined,
      },
    );
    expect(document).toEqual({
      document_type: "agtp-status",
      canonical_id: AGENT_ID,
      agent_label: "alice",
      org_domain: "acme.example",
      lifecycle_state: "suspended",
      lifecycle_state_since: "2029-12-31T00:00:00.000Z",
      cert_status: "valid",
      last_action_method: "BOOK",
      last_action_timestamp: "2030-01-01T00:00:00.000Z",
      generated_at: "2030-01-01T00:00:00.000Z",
    });
  });
});
