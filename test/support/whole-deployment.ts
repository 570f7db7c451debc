/** A deployment with a file of every kind, and nothing wrong with one of them. */
import { createHash, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { configFile, type DeploymentFiles, endpointFile } from "./deployment.ts";
import { discoveryFiles } from "./discovery.ts";
import { makeKey } from "./private-key.ts";
import { HANDLER_PROCESS } from "./processes.ts";

const EXAMPLES = resolve(import.meta.dirname, "../../examples");

/** A file of the examples. */
export function exampleFile(path: string): string {
  return readFileSync(join(EXAMPLES, path), "utf8");
}

const { publicKey } = generateKeyPairSync("ed25519");
/** In PEM. */
export const PUBLIC_KEY: string = publicKey.export({ type: "spki", format: "pem" }).toString();
const JWK = { ...publicKey.export({ format: "jwk" }), kid: "1", alg: "EdDSA", use: "sig" };
const TLS = process.env["KEPT_TLS"] ?? "";
const CERT = readFileSync(join(TLS, "cert.pem"), "utf8");
const KEY = readFileSync(join(TLS, "key.pem"), "utf8");

/** Errors of an endpoint with an upstream of whichever kind. */
export const UPSTREAM_ERRORS: readonly string[] = [
  ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
  ...["upstream_authentication_failed", "upstream_error", "upstream_definition_changed"],
];

/** A tool of an MCP server as a handler. */
export function mcpTool(server: string): object {
  return { type: "mcp_tool", server, tool: "map", definition: `sha256:${"0".repeat(64)}` };
}

/** A process of the configuration, in a mode of the test's. */
export function processOf(name: string, ...mode: readonly string[]): object {
  return { name, command: [process.execPath, HANDLER_PROCESS, ...mode] };
}

const PAIR = { cert: "tls/cert.pem", key: "tls/key.pem" };
const SHA256 = createHash("sha256").update("k").digest("hex");

/** The sections that name files, or each other's things; new ones at each call. */
export function wholeTables(): Record<string, object> {
  return {
    server: {},
    tls: { ...PAIR },
    limits: {},
    signing: { key: "keys/signing.pem" },
    handlers: {},
    processes: [processOf("rooms")],
    agents: { default: "alice" },
    policies: {
      methods: { custom: ["FROB"] },
      identity: { trusted_issuers: [PUBLIC_KEY] },
      approvals: [{ method: "BOOK", path: "/room", agent: "bob", approval: "operator" }],
      oauth: { issuer: "https://issuer.example", audience: "agtp", jwks_file: "keys/jwks.json" },
    },
    gateway: { enabled: true, port: 0, agent: "bob", ...PAIR },
    mcp: { enabled: true, servers: [{ name: "city", command: "node", args: ["city.mjs"] }] },
    tracing: { enabled: true, ca: "tls/ca.pem" },
    console: { enabled: true, port: 0, ...PAIR },
    webhooks: { ca: "tls/ca.pem", recipients: { desk: "https://desk.example/news" } },
    groups: { night: ["bob", "webhook:desk"] },
    peers: [
      {
        ...{ name: "annex", server_id: "annex.example", public_key: PUBLIC_KEY },
        ...{ uri: "agtp://annex.example", ca: "tls/ca.pem" },
      },
    ],
    openwop: {
      trusted_keys: { pack: "keys/pack.pem" },
      api_keys: [{ sha256: SHA256, tenant: "default", scopes: ["runs:read"] }],
      agents: { "vendor.example.clerk": { scopes: [] } },
    },
    agntcy: [{ manifest: "agents/agntcy/echo.json", base: "/parrot", deferred: true }],
    agentcli: { manifests: ["agents/agentcli/nightly.json"], expose: ["nightly"] },
  };
}

const CLERK = "agents/openwop/clerk";
const RETURN = "schemas/return.schema.json";

/** Its files. */
export function wholeFiles(tables: Readonly<Record<string, object>>): DeploymentFiles {
  return {
    ...discoveryFiles(),
    "agtp-server.toml": configFile(tables),
    "endpoints/custom.toml": endpointFile({ method: "FROB", path: "/things" }),
    "endpoints/process.toml": endpointFile({
      ...{ method: "QUERY", path: "/rooms" },
      handler: { type: "registered_function", function: "rooms:echo" },
    }),
    "endpoints/tool.toml": endpointFile({
      ...{ method: "QUERY", path: "/city", errors: UPSTREAM_ERRORS, handler: mcpTool("city") },
    }),
    [`${CLERK}/pack.json`]: exampleFile(`openwop/${CLERK}/pack.json`),
    [`${CLERK}/${RETURN}`]: exampleFile(`openwop/${CLERK}/${RETURN}`),
    "agents/openwop/workflows/front-desk.json": exampleFile("openwop/workflows/front-desk.json"),
    "agents/agntcy/echo.json": exampleFile("agntcy/agents/agntcy/echo.json"),
    "agents/agentcli/nightly.json": exampleFile("agentcli/agents/agentcli/nightly.json"),
    ...{ "tls/ca.pem": CERT, "tls/cert.pem": CERT, "tls/key.pem": KEY, "tls/none.pem": "none" },
    ...{ "keys/signing.pem": makeKey("ed25519"), "keys/pack.pem": PUBLIC_KEY },
    "keys/jwks.json": JSON.stringify({ keys: [JWK] }),
  };
}
