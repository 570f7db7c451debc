/** Deployments that believe too much, or grant too much. */
import { generateKeyPairSync } from "node:crypto";
import { issueAgent } from "../../../src/identity/issue.ts";
import { agentFile } from "../../support/deployment.ts";
import { agent, type Case, DAY_MS, identities, onNetwork, withCertificate } from "./case.ts";

export const trustCases: readonly Case[] = [
  {
    title: "unknown agents that are accepted, on loopback",
    id: "unknown-agents",
    site: { tables: identities({ unknown_agents: "accept" }) },
    found: { severity: "warning", key: "policies.identity.unknown_agents" },
  },
  {
    title: "unknown agents that are accepted, on a network",
    id: "unknown-agents",
    site: () => withCertificate(300, { tables: onNetwork({ unknown_agents: "accept" }) }),
    found: { severity: "error" },
  },
  {
    title: "identities that nothing proves, on a network",
    id: "identity-assurance",
    site: () => withCertificate(300, { tables: onNetwork() }),
    found: { severity: "error", key: "policies.identity.assurance" },
  },
  {
    title: "a permission that loopback does not need",
    id: "identity-assurance",
    site: { tables: identities({ allow_unverified_identity: true }) },
    found: { severity: "note", key: "policies.identity.allow_unverified_identity" },
  },
  {
    title: "tokens that are meant for anybody",
    id: "token-audience",
    site: {
      tables: { policies: { oauth: { issuer: "https://id.example", jwks_file: "jwks.json" } } },
      files: { "jwks.json": '{ "keys": [] }' },
    },
    found: { severity: "warning", key: "policies.oauth.audience" },
  },
  {
    title: "lifecycles that anybody may change",
    id: "lifecycle-auth",
    site: { tables: identities({ lifecycle_auth: "open" }) },
    found: { severity: "warning", key: "policies.identity.lifecycle_auth" },
  },
  {
    title: "discovery without an Agent-ID, on a network",
    id: "anonymous-discovery",
    site: () => withCertificate(300, { tables: onNetwork() }),
    found: { severity: "warning", key: "policies.anonymous_discovery" },
  },
  {
    title: "records that anybody may read",
    id: "inspect-access",
    site: { tables: identities({ inspect_acl: "public" }) },
    found: { severity: "warning", key: "policies.identity.inspect_acl" },
  },
  {
    title: "calls without a scope",
    id: "scope-requirement",
    site: { tables: { policies: { scope_required_for_invocation: false } } },
    found: { severity: "warning", key: "policies.scope_required_for_invocation" },
  },
  {
    title: "methods beyond the catalog",
    id: "wildcards",
    site: { tables: { policies: { wildcards_accepted: true } } },
    found: { severity: "warning", key: "policies.wildcards_accepted" },
  },
  {
    title: "an agent that holds everything",
    id: "wildcards",
    site: { files: agent({ scopes_accepted: ["*:*"] }) },
    found: { severity: "warning", file: "agents/nora.agent.json", key: "scopes_accepted" },
  },
  {
    title: "an agent that holds a whole domain",
    id: "wildcards",
    site: { files: agent({ scopes_accepted: ["orders:*", "booking:room"] }) },
    found: { severity: "note", message: "orders:* grants more than it names" },
  },
  {
    title: "an OpenWOP agent that is granted everything",
    id: "wildcards",
    site: { tables: { openwop: { agents: { "core.nora": { scopes: ["*:*"] } } } } },
    found: { severity: "warning", key: 'openwop.agents."core.nora".scopes' },
  },
  {
    title: "a document whose issuer is not trusted, or no longer",
    id: "issuer-trust",
    site: { files: strangersAgent("document") },
    found: { severity: "warning", key: "manifest_issuer_public_key" },
  },
  {
    title: "a Genesis whose issuer is not trusted, or no longer",
    id: "issuer-trust",
    site: { files: strangersAgent("genesis") },
    found: { severity: "warning", file: "agents/nora.genesis.json", key: "issuer_public_key" },
  },
  {
    title: "a document that is over",
    id: "agent-documents",
    site: { files: agent({ expires_at: "2026-02-01T00:00:00Z" }) },
    found: { severity: "error", file: "agents/nora.agent.json", key: "expires_at" },
  },
  {
    title: "a document that will soon be over",
    id: "agent-documents",
    site: { files: agent({ valid_until: new Date(Date.now() + DAY_MS).toISOString() }) },
    found: { severity: "warning", key: "valid_until" },
  },
  {
    title: "an agent that is retired",
    id: "agent-documents",
    site: { files: agent({ status: "retired" }) },
    found: { severity: "note", key: "status" },
  },
];

/** An agent whose Genesis, or whose document, somebody signed who is not listed. */
function strangersAgent(signed: "genesis" | "document"): Readonly<Record<string, string>> {
  const issued = issueAgent({
    ...{ name: "nora", ownerId: "acme", principal: "Acme", principalId: "acme.example" },
    ...{ description: "An agent.", governanceZone: "zone:default", scopes: [] },
    ...{ issuer: "https://issuer.example", issuerKey: generateKeyPairSync("ed25519").privateKey },
  });
  const document = "agents/nora.agent.json";
  if (signed === "document") return { [document]: JSON.stringify(issued.document) };
  return {
    [document]: agentFile({ agent_id: issued.agentId, name: "nora" }),
    "agents/nora.genesis.json": JSON.stringify(issued.genesis),
  };
}
