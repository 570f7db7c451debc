/** The deployment directory of each node of a cluster; all have the same agents and endpoints. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Operator } from "./operator.ts";

/** The facts that the nodes share, and where a node finds its database. */
export interface NodeDeployment {
  readonly node: string;
  readonly databasePort: number;
  readonly leaseMs: number;
  readonly tls: { readonly cert: string; readonly key: string };
  /** The private key that records are signed with, in PEM. */
  readonly signingKey: string;
  /** The file that effects are noted in. */
  readonly effects: string;
  readonly operator: Pick<Operator, "ca" | "fingerprint">;
}

/** Agents that go on to the end, and those that are revoked one after the other. */
export const WORKERS = 6;
export const VICTIMS = 300;
/** The agent that decides. */
export const OPERATOR: number = WORKERS + VICTIMS;
/** The id of the workflow that is run. */
export const WORKFLOW = "walk";
const STEPS = 4;
const STEP_MS = 150;

/** The identity of the nth agent: the workers first. */
export function agentId(index: number): string {
  return "c1".repeat(28) + index.toString(16).padStart(8, "0");
}

/** Writes a node's directory; answers its configuration. */
export function writeNode(directory: string, deployment: NodeDeployment): string {
  for (const name of ["endpoints", "catalog", "agents/openwop/workflows", "recipes"]) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  cpSync(
    new URL("../../../../catalog/methods.json", import.meta.url),
    join(directory, "catalog/methods.json"),
  );
  for (let index = 0; index <= OPERATOR; index += 1) {
    const document = { ...AGENT, agent_id: agentId(index), name: `agent-${index}` };
    writeFileSync(join(directory, `agents/agent-${index}.agent.json`), JSON.stringify(document));
  }
  writeFileSync(join(directory, "endpoints/lists.toml"), endpoint("QUERY", "/lists", "read"));
  writeFileSync(join(directory, "endpoints/rooms.toml"), endpoint("RESERVE", "/rooms", "reserve"));
  const approved = endpoint("BOOK", "/rooms/{key}", "reserve", 'approval = "operator"');
  writeFileSync(join(directory, "endpoints/books.toml"), approved);
  const workflows = join(directory, "agents/openwop/workflows");
  writeFileSync(join(workflows, `${WORKFLOW}.json`), JSON.stringify(workflow()));
  writeFileSync(join(directory, "ca.pem"), deployment.operator.ca);
  writeFileSync(join(directory, "handlers.mjs"), handlers(deployment.effects));
  writeFileSync(join(directory, "signing.pem"), deployment.signingKey, { mode: 0o600 });
  const config = join(directory, "agtp-server.toml");
  writeFileSync(config, configuration(deployment));
  return config;
}

function configuration(deployment: NodeDeployment): string {
  const { node, databasePort, leaseMs, tls, operator } = deployment;
  return `[server]
server_id = "torture.example"
operator = "Torture"
contact = "ops@torture.example"
port = 0
[tls]
cert = ${JSON.stringify(tls.cert)}
key = ${JSON.stringify(tls.key)}
client_auth = "optional"
client_ca = "ca.pem"
[limits]
work_ms_per_second = 0
[policies.identity]
lifecycle_auth = "open"
inspect_acl = "public"
operator_certificates = ["${operator.fingerprint}"]
[signing]
key = "signing.pem"
[store]
driver = "postgres"
url = "postgres://agtp@127.0.0.1:${databasePort}/agtp"
[cluster]
node = "${node}"
view_lease_ms = ${leaseMs}
`;
}

/** An effect is noted by the clock that all processes of a machine share, some time before its answer. */
function handlers(effects: string): string {
  return `import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
export const read = () => ({ body: {} });
export const reserve = async ({ input }) => {
  const at = Number(process.hrtime.bigint()) / 1e6;
  appendFileSync(${JSON.stringify(effects)}, JSON.stringify({ key: input.key, at }) + "\\n");
  await delay(20 * Math.random());
  return { body: { reserved: input.key } };
};
`;
}

/** Steps that take some time, one behind the other. */
function workflow(): object {
  const nodes = Array.from({ length: STEPS }, (_, index) => ({
    ...{ id: `n${index}`, typeId: "core.delay", name: "Wait", position: { x: 0, y: 0 } },
    ...{ config: { delayMs: STEP_MS }, inputs: {} },
  }));
  const edges = nodes.slice(1).map(({ id }, index) => ({
    ...{ id: `e${index}`, sourceNodeId: `n${index}`, targetNodeId: id },
  }));
  return {
    ...{ id: WORKFLOW, name: "Walk", version: "1.0", nodes, edges, variables: [] },
    ...{ metadata: {}, settings: {}, triggers: [{ id: "manual", type: "manual" }] },
  };
}

function endpoint(method: string, path: string, name: string, more = ""): string {
  return `[endpoint]
method = "${method}"
path = "${path}"
${more}
description = "An endpoint of the torture."
errors = []
[endpoint.semantic]
intent = "Do what is asked for."
actor = "agent"
outcome = "It is done."
capability = "transaction"
confidence = 0.5
impact = "reversible"
is_idempotent = false
[endpoint.input_schema]
type = "object"
additionalProperties = false
[endpoint.input_schema.properties]
key = { type = "string" }
[endpoint.output_schema]
type = "object"
[endpoint.handler]
type = "registered_function"
function = "handlers.${name}"
`;
}

const AGENT = {
  agtp_version: "1.0",
  description: "An agent of the torture.",
  principal: "Torture",
  principal_id: "torture.example",
  issuer: "https://torture.example",
  issued_at: "2026-01-15T09:00:00Z",
  status: "active",
  scopes_accepted: ["booking:room", "runs:create", "runs:read"],
};
