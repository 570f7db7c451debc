/**
 * Generates a deployment of many endpoints and agents with little in common, like a large
 * operator's: distinct words and schemas. The same numbers produce the same files.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The size of a deployment. */
export interface Extent {
  readonly endpoints: number;
  readonly agents: number;
}

const METHODS = ["BOOK", "QUERY", "CREATE", "CANCEL", "FETCH", "LIST", "TRACK", "SCHEDULE"];
const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ");
const COMMON =
  "returns the order of a customer with price status date room report find list create".split(" ");
/** The number of distinct words besides the common ones. */
const WORDS = 20_000;

/** Writes everything except the catalog, and returns the configuration's path. */
export function writeScaleDeployment(
  directory: string,
  tls: { readonly cert: string; readonly key: string },
  { endpoints, agents }: Extent,
): string {
  for (const name of ["endpoints", "catalog", "agents", "recipes"]) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  for (let index = 0; index < endpoints; index += 1) {
    writeFileSync(join(directory, `endpoints/e${index}.toml`), endpointFile(index));
  }
  for (let index = 0; index < agents; index += 1) {
    const file = join(directory, `agents/a${index}.agent.json`);
    writeFileSync(file, JSON.stringify(agentDocument(index)));
  }
  writeFileSync(join(directory, "work.mjs"), "export const run = () => ({ body: {} });\n");
  const config = join(directory, "agtp-server.toml");
  writeFileSync(config, configFile(tls));
  return config;
}

/** The Agent-ID of the nth agent. */
export function agentId(index: number): string {
  return index.toString(16).padStart(64, "0");
}

/** The word with a given number. */
export function wordOf(number: number): string {
  let rest = number % WORDS;
  let word = "";
  do {
    word += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  } while (rest > 0);
  return `${word}${SYLLABLES[number % 7]}n`;
}

/** A sequence of words: some common to all endpoints, some rare. */
function sentence(seed: number, count: number): string {
  const words = Array.from({ length: count }, (_, place) => {
    const number = (seed * 7919 + place * 104_729) >>> 0;
    return place % 3 === 0 ? COMMON[number % COMMON.length] : wordOf(number);
  });
  return `Does ${words.join(" ")}.`;
}

function endpointFile(index: number): string {
  const names = Array.from({ length: 4 }, (_, place) => `${wordOf(index * 5 + place)}_${place}`);
  return `[endpoint]
method = "${METHODS[index % METHODS.length]}"
path = "/${wordOf(index)}/n${index}"
description = "${sentence(index, 14)}"
namespace = "space-${index % 40}"
required_scopes = ["space${index % 400}:use"]
errors = ["not_${wordOf(index * 3)}"]
[endpoint.semantic]
intent = "${sentence(index + 13, 8)}"
actor = "agent"
outcome = "${sentence(index + 29, 8)}"
capability = "transaction"
confidence = 0.9
impact = "reversible"
is_idempotent = false
[endpoint.input_schema]
type = "object"
required = ["${names[0]}"]
additionalProperties = false
[endpoint.input_schema.properties]
${names.map((name) => `${name} = { type = "string", description = "${sentence(index, 4)}" }`).join("\n")}
[endpoint.output_schema]
type = "object"
required = ["${wordOf(index * 11)}_id"]
[endpoint.output_schema.properties]
${wordOf(index * 11)}_id = { type = "string" }
[endpoint.handler]
type = "registered_function"
function = "work.run"
`;
}

/** The scopes of the first agent, which sends the requests. */
export const CALLER_SCOPES: readonly string[] = Array.from(
  { length: 60 },
  (_, index) => `space${index}:*`,
);

function agentDocument(index: number): object {
  return {
    agtp_version: "1.0",
    agent_id: agentId(index),
    name: `agent-${index}`,
    description: sentence(index * 3, 10),
    principal: `Principal ${index % 50}`,
    principal_id: `p${index % 50}.example`,
    issuer: "https://scale.example",
    issued_at: "2026-01-15T09:00:00Z",
    status: "active",
    skills: Array.from({ length: 6 }, (_, place) => wordOf(index * 7 + place)),
    scopes_accepted: [`space${index % 400}:use`, ...(index === 0 ? CALLER_SCOPES : [])],
  };
}

function configFile({ cert, key }: { readonly cert: string; readonly key: string }): string {
  return `[server]
server_id = "scale.example"
operator = "Scale"
contact = "ops@scale.example"
port = 0
[tls]
cert = ${JSON.stringify(cert)}
key = ${JSON.stringify(key)}
[policies]
synthesis_enabled = true
[policies.identity]
inspect_acl = "public"
[limits]
max_connections_per_address = 10000
work_ms_per_second = 0
`;
}
