/**
 * The shell commands from drafted endpoints to a first governed call: an agent with a scope, the
 * review marks, the checks, the daemon, and a call that fits the input schema.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { urlAuthority } from "../../base/addresses.ts";
import { type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import { shellWord } from "../../base/shell-word.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { schemaSample } from "../../schema/schema-sample.ts";
import { defuse } from "./terminal.ts";

const AGENT = "guide";
const AGENTS = "agents";
const WIDTH = 46;

/** A drafted endpoint: the content of `[endpoint]`. */
interface DraftedCall {
  readonly method: string;
  readonly path: string;
  readonly table: JsonRecord;
}

interface FirstCallPlace {
  /** The path of the deployment, independent of the current directory. */
  readonly home: string;
  /** The deployment on the command line; undefined for the current directory. */
  readonly directory?: string;
  /** The directory of the endpoint files, relative to the deployment. */
  readonly endpoints: string;
  /** The agent's scope if no endpoint requires one. */
  readonly scope: string;
  readonly hasVariables: boolean;
  readonly hasKey: boolean;
  /** The directory of the agents, relative to the deployment; undefined for the default. */
  readonly agents?: string;
  /** The port of the server; undefined for the default. */
  readonly port?: number;
}

/** Commands to run before the daemon, and those in another terminal beside it. */
interface FirstCall {
  readonly before: readonly string[];
  readonly beside: readonly string[];
}

/** Builds the commands; the last one calls the endpoint with the least effect. */
export function firstCall(calls: readonly DraftedCall[], place: FirstCallPlace): FirstCall {
  const { home, directory, endpoints, scope, hasVariables, hasKey, agents = AGENTS } = place;
  const scopes = new Set(calls.flatMap(({ table }) => textsIn(table["required_scopes"])));
  const held = [...(scopes.size === 0 ? [scope] : scopes)].join(",");
  const folder = shown(endpoints);
  const name = freeName(join(home, agents));
  const elsewhere = agents === AGENTS ? "" : ` --out-dir ${shown(agents)}`;
  const document = JSON.stringify(`./${agents}/${name}.agent.json`);
  return {
    before: [
      ...(directory === undefined ? [] : [`cd ${shown(directory)}`]),
      ...(hasVariables
        ? [noted("cp .env.example .env && chmod 600 .env", "put the secrets in")]
        : []),
      ...(hasKey ? [] : ["agtp-keys signing"]),
      `agtp-keys genesis --name ${name} --principal Operator --owner-id operator --issuer-key .agtp/keys/signing.pem --agent-key --scope ${shown(held)}${elsewhere}`,
      noted(`grep -rn REVIEW ${folder}`, "judge each; then take the marks away:"),
      `find ${folder} -name '*.toml' -exec sed -i.bak 's/ *# REVIEW:.*//' {} + && find ${folder} -name '*.bak' -delete`,
      "agtpd --check && agtpd doctor",
    ],
    beside: [
      ...(place.port === 0 ? [noted("PORT=", "of its line that says it listens")] : []),
      `GUIDE=$(node -p ${shown(`require(${document}).agent_id`)})`,
      ...calls
        .toSorted((one, other) => weight(one) - weight(other))
        .slice(0, 1)
        .map((call) => callOf(call, place)),
    ],
  };
}

/** A name without files yet, because an existing agent keeps the scopes that it was issued with. */
function freeName(agents: string): string {
  const isTaken = (name: string): boolean =>
    ["genesis", "agent"].some((kind) => existsSync(join(agents, `${name}.${kind}.json`)));
  let name = AGENT;
  for (let count = 2; isTaken(name); count += 1) name = `${AGENT}-${count}`;
  return name;
}

/** The commands as printed after an import. */
export function firstCallText({ before, beside }: FirstCall): string {
  const lines = [
    "next, to the first call:",
    ...before.map((command) => `  ${command}`),
    "  agtpd",
    "and in another terminal, in the same directory:",
    ...beside.map((command) => `  ${command}`),
  ];
  return `${lines.join("\n")}\n`;
}

function noted(command: string, remark: string): string {
  return `${command.padEnd(WIDTH)}  # ${remark}`;
}

/** Lowest for endpoints that only read and require few inputs. */
function weight({ table }: DraftedCall): number {
  const { impact } = recordIn(table["semantic"]);
  const changes = ["informational", "reversible"].indexOf(String(impact));
  return (changes === -1 ? 2 : changes) * 1000 + requiredOf(table).length;
}

function requiredOf({ input_schema: schema }: JsonRecord): readonly string[] {
  const required = recordIn(schema)["required"];
  return Array.isArray(required) ? required.map(String) : [];
}

function callOf({ method, path, table }: DraftedCall, { port }: FirstCallPlace): string {
  const sample = schemaSample(table["input_schema"]);
  const input = new Map(Object.entries(recordIn(sample)));
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = input.get(name) ?? "1";
    input.delete(name);
    // A lone surrogate cannot be percent-encoded.
    return encodeURIComponent(String(value).replace(/\p{Surrogate}/gu, "\ufffd"));
  });
  const rest = input.size === 0 ? "" : ` -d ${shown(JSON.stringify(Object.fromEntries(input)))}`;
  // With port 0 the port is chosen at the start.
  const server =
    port === 0 ? "localhost:$PORT" : urlAuthority("localhost", port ?? AGTP_PORT, AGTP_PORT);
  return `agtp agtp://${server} ${method} ${shown(filled)} --agent-id $GUIDE${rest}`;
}

/** Quotes a word of a command for display. */
function shown(text: string): string {
  return shellWord(defuse(text));
}
