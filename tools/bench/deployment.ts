/** Writes deployment directories for the daemon under test, with any number of endpoints. */
import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchHandler, handlerTable, PROCESS, PYTHON, processConfig } from "./handlers.ts";
import { benchAgentId, ORDER_RESULT } from "./order.ts";
import { endpointFile, refusingFiles } from "./order-endpoint.ts";

/**
 * The mode of Attribution-Records: none, unsigned, signed, synced before the reply leaves, or
 * signed with retention.
 */
type Records = "off" | "unsigned" | "signed" | "power" | "retained";

/** The options of a deployment besides the number of its endpoints. */
export interface DeploymentVariant {
  readonly tls: { readonly cert: string; readonly key: string };
  readonly records: Records;
  /** Default: 1. */
  readonly agents?: number;
  /** The number of worker processes. Default: 1. */
  readonly workers?: number;
  /** True if it serves MCP clients, over plain HTTP. */
  readonly mcp?: boolean;
  /** The handler of its endpoints. Default: a function. */
  readonly handler?: BenchHandler;
  /** True if it has two more endpoints: one with a path parameter, and one with a scope that no agent holds. */
  readonly refusing?: boolean;
  /** True if it has a console. */
  readonly console?: boolean;
  /** The trace collector, and the share of requests that are traced. Default: none. */
  readonly tracing?: { readonly endpoint: string; readonly ratio: number } | undefined;
  /** A PostgreSQL, and the name of this node in it. Default: local files. */
  readonly store?: { readonly url: string; readonly node: string } | undefined;
}

/** Writes a deployment with endpoints `CREATE /orders/00000`, `CREATE /orders/00001`, … */
export function writeDeployment(
  directory: string,
  endpointCount: number,
  variant: DeploymentVariant,
): string {
  const { tls, records, mcp, console, tracing, store } = variant;
  const { agents = 1, workers = 1, handler = "function" } = variant;
  for (const name of ["endpoints", "catalog", "agents", "recipes"]) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  const catalog = new URL("../../../catalog/methods.json", import.meta.url);
  cpSync(catalog, join(directory, "catalog/methods.json"));
  for (let index = 0; index < endpointCount; index += 1) {
    writeFileSync(
      join(directory, `endpoints/order-${index}.toml`),
      endpointFile(index, handlerTable(handler, tls.cert)),
    );
  }
  const refusing = variant.refusing === true ? refusingFiles(handlerTable(handler, tls.cert)) : [];
  for (const [index, text] of refusing.entries()) {
    writeFileSync(join(directory, `endpoints/refusing-${index}.toml`), text);
  }
  writeFileSync(join(directory, "orders.mjs"), HANDLER);
  writeFileSync(join(directory, "orders-process.mjs"), PROCESS);
  writeFileSync(join(directory, "orders.py"), PYTHON);
  const library = new URL("../../../handlers/agtp_handlers.py", import.meta.url);
  cpSync(library, join(directory, "agtp_handlers.py"));
  for (let index = 0; index < agents; index += 1) {
    const document = { ...AGENT, agent_id: benchAgentId(index), name: `bench-${index}` };
    writeFileSync(join(directory, `agents/bench-${index}.agent.json`), JSON.stringify(document));
  }
  const config = join(directory, "agtp-server.toml");
  writeFileSync(
    config,
    configFile(tls, workers) +
      recordsConfig(directory, records) +
      (mcp === true ? MCP : "") +
      (console === true ? CONSOLE : "") +
      processConfig(handler) +
      storeConfig(store) +
      (tracing === undefined
        ? ""
        : `[tracing]\nenabled = true\nendpoint = "${tracing.endpoint}"\nsample_ratio = ${tracing.ratio}\n`),
  );
  return config;
}

function storeConfig(store: DeploymentVariant["store"]): string {
  if (store === undefined) return "";
  const { url, node } = store;
  return `[store]\ndriver = "postgres"\nurl = ${JSON.stringify(url)}\n[cluster]\nnode = ${JSON.stringify(node)}\n`;
}

const CONSOLE = "[console]\nenabled = true\nport = 0\n";

const MCP = `[gateway]
enabled = true
port = 0
agent = "bench-0"
[mcp]
enabled = true
anonymous = true
`;

function recordsConfig(directory: string, records: Records): string {
  if (records === "off") return "[attribution]\nenabled = false\n";
  if (records === "unsigned") return "";
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(join(directory, "signing.pem"), pem, { mode: 0o600 });
  return `[signing]\nkey = "signing.pem"\n${SIGNED_RECORDS[records]}`;
}

const SIGNED_RECORDS = {
  signed: "",
  power: '[attribution]\ndurability = "power"\n',
  retained: `[attribution.retention]\nbytes = ${256 * 1024 * 1024}\n`,
} as const;

function configFile(tls: { readonly cert: string; readonly key: string }, workers: number): string {
  return `[server]
server_id = "bench.example"
operator = "Bench"
contact = "ops@bench.example"
port = 0
workers = ${workers}
[tls]
cert = ${JSON.stringify(tls.cert)}
key = ${JSON.stringify(tls.key)}
[limits]
idle_timeout_ms = 600000
max_connections = 11000
max_connections_per_address = 11000
`;
}

const HANDLER = `export const place = () => ({ body: ${JSON.stringify(ORDER_RESULT)} });\n`;

const AGENT = {
  agtp_version: "1.0",
  description: "The caller of the benchmark.",
  principal: "Bench",
  principal_id: "bench.example",
  issuer: "https://bench.example",
  issued_at: "2026-01-15T09:00:00Z",
  status: "active",
  scopes_accepted: ["orders:write"],
};
