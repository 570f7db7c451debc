/**
 * Checks the TOML of a page as the daemon does, in a deployment that has what the page speaks of. The keys
 * that are commented out are put in as well: then nothing may be unknown.
 */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "smol-toml";
import { loadFor } from "../../src/app/build-daemon.ts";
import { checkDeployment } from "../../src/app/daemon.ts";
import { isRecord } from "../../src/base/json-value.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem, isError, type Problem } from "../../src/base/problem.ts";
import { makeAgentCa } from "../../src/identity/certificate-authority.ts";
import { makeCertificate } from "./certificate.ts";
import { agentFile, configFile, type DeploymentFiles, makeDeployment } from "./deployment.ts";
import { snippetsOf } from "./doc-snippets.ts";
import { ROOT } from "./source-tree.ts";

type Table = Record<string, unknown>;

/** Pages whose settings connect to something when they are checked; their guides are run. */
const NOT_STARTED: ReadonlySet<string> = new Set(["docs/agntcy.md", "docs/cluster.md"]);

const ENDPOINT = "docs/reference/endpoint-file.md";
const VARIABLES = ["CONSOLE_SECRET", "COLLECTOR_TOKEN", "WEBHOOK_SECRET", "DB"];

/** What is wrong with the TOML of a page. */
export async function checkTomlOf(page: string): Promise<readonly string[]> {
  const texts = snippetsOf(page)
    .filter(({ kind }) => kind === "toml")
    .map(({ text }) => text);
  const problems = [
    ...(await problemsOf(page, texts)).filter(isError),
    ...(await problemsOf(page, texts.map(withCommented))).filter(isUnknown),
  ];
  return problems.map(formatProblem);
}

function isUnknown({ message }: { readonly message: string }): boolean {
  return message.includes("unknown key");
}

/** The text with every key and table that is commented out. */
function withCommented(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/^# (?=[\w."-]+ = |\[[\w.]+\]$)/, ""));
  try {
    parse(lines.join("\n"));
    return lines.join("\n");
  } catch {
    return text;
  }
}

async function problemsOf(page: string, texts: readonly string[]): Promise<readonly Problem[]> {
  const tables = texts.map((text) => parse(text) as Table);
  const configs = tables.filter((table) => !("endpoint" in table) && !("recipe" in table));
  const config = { signing: { key: "signing.pem" }, ...configs.reduce(merge, {}) };
  const { directory, configPath } = makeDeployment({
    ...(await companions()),
    "agtp-server.toml": configFile(config as Record<string, object>),
    ...named("endpoints", tables.filter((table) => "endpoint" in table).map(completed)),
    ...named(
      "recipes",
      tables.filter((table) => "recipe" in table),
    ),
  });
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const { PATH, HOME } = process.env;
  const secrets = VARIABLES.map((name) => [name, "x".repeat(32)]);
  const url = { DATABASE_URL: "postgres://agtpd@db.example/agtpd" };
  const env = { PATH, HOME, ...url, ...Object.fromEntries(secrets) };
  const options = { configPath, env, log: SILENT };
  return NOT_STARTED.has(page) ? loadFor(options).problems : await checkDeployment(options);
}

const SILENT = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });

/** Tables are merged, lists are put together. */
function merge(one: Table, other: Table): Table {
  const merged: Table = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name];
    if (Array.isArray(before) && Array.isArray(value)) merged[name] = [...before, ...value];
    else if (isRecord(before) && isRecord(value)) merged[name] = merge(before, value);
    else merged[name] = value;
  }
  return merged;
}

/** A file of TOML each. */
function named(folder: string, tables: readonly Table[]): DeploymentFiles {
  return Object.fromEntries(
    tables.map((table, index) => [`${folder}/of-page-${index}.toml`, stringify(table)]),
  );
}

/** A snippet that is a handler alone, in an endpoint. */
function completed(table: Table, index: number): Table {
  const { handler, ...others } = table["endpoint"] as Table;
  if (Object.keys(others).length > 0) return table;
  const [{ text = "" } = {}] = snippetsOf(ENDPOINT).filter(({ kind }) => kind === "toml");
  const { endpoint } = parse(text) as { readonly endpoint: Table };
  const errors = [...UPSTREAM_ERRORS, "item_unknown", "not_on_the_list"];
  return { endpoint: { ...endpoint, path: `/things/{item_id}/${index}`, errors, handler } };
}

/** Those that every endpoint declares whose upstream is an MCP server. */
const UPSTREAM_ERRORS = [
  ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
  ...["upstream_authentication_failed", "upstream_error", "upstream_definition_changed"],
];

/** The files that pages speak of. */
async function companions(): Promise<DeploymentFiles> {
  const { cert, key } = await makeCertificate();
  const agents = await makeAgentCa({ name: "Agents", days: 30 });
  if (!("certificate" in agents)) throw new Error("no CA could be made");
  const { privateKey } = generateKeyPairSync("ed25519");
  const names = ["night-audit", "front-desk", "concierge"];
  return {
    "signing.pem": String(privateKey.export({ format: "pem", type: "pkcs8" })),
    "tls/cert.pem": cert,
    "tls/key.pem": key,
    "tls/agents-ca.pem": agents.certificate,
    "tls/webhooks-ca.pem": cert,
    ...Object.fromEntries(
      names.map((name, index) => {
        return [`agents/${name}.agent.json`, agentFile({ agent_id: `${index}`.repeat(64), name })];
      }),
    ),
    "agents/agentcli/ops.json": read("examples/agentcli/agents/agentcli/nightly.json"),
    "agents/agntcy/mailcomposer.json": read("examples/agntcy/agents/agntcy/echo.json"),
    "endpoints/items.mjs": "export const query_item = () => ({ body: {} });",
    "endpoints/reservations/rooms.mjs": "export const query_reservation = () => ({ body: {} });",
    "endpoints/city/calendar.mjs": read("endpoints/city/calendar.mjs"),
    "handlers/booking.py": BOOKING,
    "handlers/agtp_handlers.py": read("handlers/agtp_handlers.py"),
  };
}

const BOOKING = `from agtp_handlers import handler, run

@handler
def book_room(call):
    return {"price": 1}

run()
`;

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
