/** Deployments that serve what they should not, or not what they should. */

import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { shippedCatalogPath } from "../../../src/catalog/catalog-file.ts";
import { packFiles } from "../../support/openwop.ts";
import { node, workflow } from "../../support/openwop-workflows.ts";
import { type Case, endpoint, upstream, variable } from "./case.ts";

const SEMANTIC = {
  intent: "Do it.",
  actor: "agent",
  outcome: "It is done.",
  capability: "transaction",
  confidence: 0.5,
  is_idempotent: false,
};

export const servedCases: readonly Case[] = [
  {
    title: "an endpoint that does not load",
    id: "unserved-files",
    site: { files: { "endpoints/bad.toml": '[endpoint]\nmethod = "BOOK"\n' } },
    found: { severity: "error", file: "endpoints/bad.toml" },
  },
  {
    title: "an endpoint whose variable is not set",
    id: "unserved-files",
    site: { files: upstream({ Authorization: `Bearer ${variable("TOKEN")}` }) },
    found: { message: expect.stringContaining("TOKEN is not set") },
  },
  {
    title: "a mark for review",
    id: "review-marks",
    site: {
      files: {
        ...endpoint(),
        "endpoints/facts.toml": `# REVIEW: impact was guessed\n${endpoint()["endpoints/facts.toml"]}`,
      },
    },
    found: {
      severity: "warning",
      file: "endpoints/facts.toml",
      message: 'has a mark for review, the first on line 1: "impact was guessed"',
    },
  },
  {
    title: "an irreversible endpoint for every agent",
    id: "open-endpoints",
    site: { files: endpoint({ semantic: { ...SEMANTIC, impact: "irreversible" } }) },
    found: { severity: "warning", key: "endpoint.required_scopes" },
  },
  {
    title: "an old catalog",
    id: "catalog-version",
    site: { files: catalog("0.9.0") },
    found: { severity: "warning", file: "catalog/methods.json", key: "version" },
  },
  {
    title: "a catalog that is newer than the product",
    id: "catalog-version",
    site: { files: catalog("99.0.0") },
    found: { severity: "note" },
  },
  {
    title: "a tool of a pack's agent that names no endpoint",
    id: "openwop-names",
    site: {
      files: packFiles({ agents: [{ toolAllowlist: ["agtp:BOOK /nowhere", "agtp:QUERY /x"] }] }),
    },
    found: { severity: "warning", key: "agents[0].toolAllowlist", message: expect.any(String) },
  },
  {
    title: "a grant to an agent that is not installed",
    id: "openwop-names",
    site: { tables: { openwop: { agents: { "vendor.no.x": { scopes: ["a:b"] } } } } },
    found: { severity: "warning", key: 'openwop.agents."vendor.no.x"' },
  },
  {
    title: "a scope of a bearer key that is none",
    id: "openwop-names",
    site: {
      tables: {
        openwop: { api_keys: [{ sha256: "0".repeat(64), tenant: "t", scopes: ["runs:write"] }] },
      },
    },
    found: { severity: "error", key: "openwop.api_keys[0].scopes[0]" },
  },
  {
    title: "a workflow whose agent is not installed",
    id: "openwop-names",
    site: {
      files: {
        "agents/openwop/workflows/w.json": JSON.stringify(
          workflow("w", [node("a", "core.agent", { agent: { agentId: "vendor.no.x" } })]),
        ),
      },
    },
    found: { severity: "warning", key: "nodes[0].agent.agentId" },
  },
  {
    title: "the mock agent of the public suite",
    id: "conformance-mode",
    site: { tables: { openwop: { conformance: true } } },
    found: { severity: "error", key: "openwop.conformance" },
  },
  {
    title: "an API that is listed with plain http",
    id: "plain-http",
    site: {
      tables: { apis: [{ name: "orders", base_url: "http://api.acme.example" }] },
    },
    found: { severity: "warning", key: "apis[0].base_url" },
  },
  {
    title: "a webhook in plain http on this machine",
    id: "plain-http",
    site: {
      tables: {
        webhooks: { secret: variable("SECRET"), recipients: { desk: "http://127.0.0.1:9/hook" } },
      },
      environment: { SECRET: "s" },
    },
    found: { severity: "note", key: "webhooks.recipients.desk" },
  },
  {
    title: "models in plain http on this machine",
    id: "plain-http",
    site: {
      tables: {
        openwop: {
          runtime: { kind: "openai-compatible", base_url: "http://127.0.0.1:9/v1" },
        },
      },
    },
    found: { severity: "note", key: "openwop.runtime.base_url" },
  },
  {
    title: "traces in plain http",
    id: "plain-http",
    site: {
      tables: { tracing: { enabled: true, endpoint: "http://traces.acme.example:4318" } },
    },
    found: { severity: "warning", key: "tracing.endpoint" },
  },
  {
    title: "a gateway in plain HTTP for a network",
    id: "plain-http",
    site: { tables: { gateway: { enabled: true, host: "0.0.0.0", allow_plain_http: true } } },
    found: { severity: "warning", key: "gateway.allow_plain_http" },
  },
  {
    title: "pages in plain http that may call the gateway",
    id: "plain-http",
    site: { tables: { gateway: { cors_origins: ["http://app.acme.example"] } } },
    found: { severity: "warning", key: "gateway.cors_origins[0]" },
  },
  {
    title: "metrics for a network",
    id: "plain-http",
    site: { tables: { metrics: { enabled: true, host: "0.0.0.0" } } },
    found: { severity: "warning", key: "metrics.host" },
  },
  {
    title: "an AGNTCY agent without TLS",
    id: "allow-http",
    site: {
      tables: { agntcy: [{ manifest: "agents/mail.json", base: "/mail", allow_http: true }] },
    },
    found: { severity: "warning", key: "agntcy[0].allow_http" },
  },
  {
    title: "an MCP server in plain http",
    id: "plain-http",
    site: {
      tables: {
        mcp: { servers: [{ name: "tools", url: "http://mcp.acme.example", allow_http: true }] },
      },
    },
    found: { severity: "warning", key: "mcp.servers[0].url" },
  },
  {
    title: "an MCP server whose program is not there",
    id: "mcp-programs",
    site: {
      tables: { mcp: { servers: [{ name: "tools", command: "tools-server" }] } },
      environment: { PATH: "/nowhere:bin" },
      files: { "bin/other-server": "" },
      modes: { "bin/other-server": 0o755 },
    },
    found: { severity: "warning", key: "mcp.servers[0].command" },
  },
  {
    title: "webhooks that nobody signs",
    id: "webhook-secret",
    site: { tables: { webhooks: { escalations: "https://ops.acme.example/" } } },
    found: { severity: "warning", key: "webhooks.secret" },
  },
];

function catalog(version: string): Readonly<Record<string, string>> {
  const shipped = JSON.parse(readFileSync(shippedCatalogPath(), "utf8"));
  return { "catalog/methods.json": JSON.stringify({ ...shipped, version }) };
}
