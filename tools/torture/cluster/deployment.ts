/** The deployment directory of each node of a cluster; the nodes have the same agents and endpoints. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AGENT, endpoint, handlers, WORKFLOW, workflow } from "./deployment-files.ts";
import type { Operator } from "./operator.ts";

/** The values that the nodes share, and the address of a node's database. */
interface NodeDeployment {
  readonly node: string;
  readonly databasePort: number;
  readonly leaseMs: number;
  readonly tls: { readonly cert: string; readonly key: string };
  /** The private key that records are signed with, in PEM. */
  readonly signingKey: string;
  /** The file in which effects are noted. */
  readonly effects: string;
  readonly operator: Pick<Operator, "ca" | "fingerprint">;
}

/** The number of agents that are never revoked; the others are revoked one after the other. */
export const WORKERS = 6;
export const VICTIMS = 300;
/** The index of the operator's agent. */
export const OPERATOR: number = WORKERS + VICTIMS;

/** The Agent-ID of the nth agent; the workers come first. */
export function agentId(index: number): string {
  return "c1".repeat(28) + index.toString(16).padStart(8, "0");
}

/** Writes a node's directory; returns the path of its configuration. */
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
