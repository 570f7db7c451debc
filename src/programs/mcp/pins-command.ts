/**
 * `agtp-mcp pins`: compares the definitions that a deployment's endpoints are pinned to with those
 * that their servers offer now. --accept replaces a pin; with a running daemon CONFIRM does that.
 */
import { existsSync } from "node:fs";
import type { Config } from "../../app/config/config.ts";
import { storeFault } from "../../app/server-state.ts";
import type { Environment } from "../../base/environment.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { OfferedTools } from "../../handlers/mcp/mcp-server.ts";
import {
  type DefinitionDifference,
  definitionDifferences,
  type OfferedTool,
  type PinnedTool,
  ToolPins,
} from "../../handlers/mcp/tool-pins.ts";
import { createMemoryStore } from "../../state/memory-store.ts";
import { readStoreCopy } from "../../state/moving/read-copy.ts";
import type { Store } from "../../state/store.ts";
import { loadDefinitions } from "../openapi/load-deployment.ts";
import { type Command, CommandRefusal, command, FileProblems, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { readConfig } from "../shell/read-config.ts";
import { defuse, defuseLine, type Terminal } from "../shell/terminal.ts";
import { withPostgres, withState, withStore } from "../shell/with-state.ts";
import { askTools, settingsOf } from "./named-server.ts";

const NOTES = `
Examples:
  agtp-mcp pins
  agtp-mcp pins --accept github/create_issue

A changed tool is not called: its endpoint answers upstream_definition_changed until its definition is
accepted here or by CONFIRM. The new pin is kept in the state; the line for the file is printed.
Exit codes: 0 every tool is as it was pinned, 1 one is not, 2 it could not be asked.`;

interface PinState extends PinnedTool {
  readonly status: "pinned" | "changed" | "gone" | "unreachable";
  /** The effective pin: the file's, or the one accepted in its place. */
  readonly pin: string;
  readonly offered?: OfferedTool;
  readonly differences?: readonly DefinitionDifference[];
  readonly reason?: string;
}

export const pinsCommand: Command = command({
  name: "agtp-mcp pins",
  description: "Lists pinned tools and what has become of them; accepts a changed definition.",
  options: {
    "--config <file>": { help: "the deployment", default: "agtp-server.toml" },
    "--accept <server/tool>": "stand by what the server offers now",
    "--json": "print it as JSON",
  },
  notes: NOTES,
  run: async ({ config: path, accept, json = false }, terminal) => {
    const config = readConfig(path, terminal);
    const states = await judge(config, terminal);
    if (accept !== undefined) {
      const accepted = await acceptTool(accept, states, config);
      if (json) printJson(accepted, terminal.out);
      else tellAccepted(accepted, terminal);
      return true;
    }
    if (json) printJson(states.map(asJson), terminal.out);
    else tell(states, terminal);
    return states.every(({ status }) => status === "pinned");
  },
});

async function judge(config: Config, terminal: Terminal): Promise<readonly PinState[]> {
  const tools = pinnedTools(config, terminal.environment);
  const pins = await readPins(config);
  const settings = settingsOf(config);
  const asked = new Map<string, OfferedTools | string>();
  for (const name of new Set(tools.map(({ server }) => server))) {
    const known = settings.find((one) => one.name === name);
    const offered = known === undefined ? "is not configured" : askTools(known, terminal);
    asked.set(name, await Promise.resolve(offered).catch(reasonOf));
  }
  return tools.map((tool) => stateOf(tool, asked.get(tool.server) ?? "was not asked", pins));
}

function stateOf(tool: PinnedTool, asked: OfferedTools | string, pins: ToolPins): PinState {
  const pin = pins.pinOf(tool);
  if (typeof asked === "string") return { ...tool, pin, status: "unreachable", reason: asked };
  const offered = asked.get(tool.tool);
  if (offered === undefined) return { ...tool, pin, status: "gone" };
  if (offered.pin === pin) return { ...tool, pin, status: "pinned", offered };
  const before = pins.definitionOf(pin);
  const differences = before && definitionDifferences(before, offered.definition);
  return { ...tool, pin, status: "changed", offered, ...(differences && { differences }) };
}

/** A tool whose definition was accepted, now or before. */
interface AcceptedTool {
  readonly server: string;
  readonly tool: string;
  readonly status: "accepted" | "pinned";
  readonly pin: string;
}

/** Accepts the definition for every endpoint of the tool, since files may have different pins. */
async function acceptTool(
  named: string,
  states: readonly PinState[],
  config: Config,
): Promise<AcceptedTool> {
  const own = states.filter(({ server, tool }) => `${server}/${tool}` === named);
  const [state] = own;
  if (state === undefined) throw usage(`no endpoint is bound to the tool ${JSON.stringify(named)}`);
  const { server, tool, offered, status, reason } = state;
  if (offered === undefined) {
    const why = reason === undefined ? "" : `: ${reason}`;
    throw new CommandRefusal(`${named} is ${status}, nothing is offered${why}`);
  }
  const changed = own.filter((one) => one.status === "changed");
  if (changed.length > 0) await keep(changed, offered, config);
  return { server, tool, status: changed.length > 0 ? "accepted" : "pinned", pin: offered.pin };
}

function tellAccepted({ server, tool, status, pin }: AcceptedTool, { out }: Terminal): void {
  const isNew = status === "accepted" ? "accepted" : "is pinned already";
  out.write(`${defuseLine(`${server}/${tool} ${isNew}`)}\ndefinition = "${pin}"\n`);
}

async function keep(
  tools: readonly PinnedTool[],
  { pin, definition }: OfferedTool,
  config: Config,
): Promise<void> {
  if (config.store.driver === "memory") {
    throw new CommandRefusal('store.driver is "memory": write the new pin into the endpoint file');
  }
  const accept = async (store: Store): Promise<void> => {
    const pins = await ToolPins.open(store);
    await pins.remember(pin, definition);
    for (const tool of tools) await pins.accept(tool, pin);
  };
  await withState(config, "agtp-mcp pins", () => withStore(config, accept, refusal), refusal);
}

function refusal(problems: readonly Problem[]): CommandRefusal {
  const hint = "a running daemon decides by CONFIRM of the escalation";
  return new CommandRefusal(`${problems.map(formatProblem).join("; ")} (${hint})`, problems);
}

function asJson({ server, tool, definition, pin, status, ...more }: PinState): object {
  const { offered, differences, reason } = more;
  const now = { offered: offered?.pin, differences, reason };
  return { server, tool, status, file_pin: definition, pin, ...now };
}

function tell(states: readonly PinState[], { out, err }: Terminal): void {
  if (states.length === 0) err.write("no endpoint is bound to a tool of an MCP server\n");
  for (const { server, tool, status, pin, offered, differences = [], reason } of states) {
    const why = reason === undefined ? "" : `  ${reason}`;
    out.write(`${defuseLine(`${status}  ${server}/${tool}  ${pin}${why}`)}\n`);
    if (status !== "changed" || offered === undefined) continue;
    out.write(`  offered  ${offered.pin}\n`);
    for (const { path, before, after } of differences) {
      out.write(`${defuse(`  ${path}`)}\n`);
      if (before !== undefined) out.write(`${defuse(`    - ${JSON.stringify(before)}`)}\n`);
      if (after !== undefined) out.write(`${defuse(`    + ${JSON.stringify(after)}`)}\n`);
    }
  }
}

const COLLECTIONS = ["mcp-pins", "mcp-definitions"];

function pinnedTools(config: Config, environment: Environment): readonly PinnedTool[] {
  const loaded = loadDefinitions(config, environment);
  if (loaded.catalog === undefined) {
    throw new FileProblems(loaded.problems.filter(isError));
  }
  const tools = new Map<string, PinnedTool>();
  for (const { handler } of loaded.definitions) {
    if (handler.type !== "mcp_tool") continue;
    const { server, tool, definition } = handler;
    tools.set(JSON.stringify([server, tool, definition]), { server, tool, definition });
  }
  return [...tools.values()];
}

/** Reads the stored pins, whether a daemon runs or not. */
async function readPins(config: Config): Promise<ToolPins> {
  const { driver, path } = config.store;
  if (driver === "postgres") return withPostgres(config, (shared) => ToolPins.open(shared));
  const store = createMemoryStore();
  if (driver === "sqlite" && existsSync(path)) {
    for (const [index, entries] of readCopy(config).entries()) {
      const collection = COLLECTIONS[index] ?? "";
      await store.commit(entries.map((entry) => ({ kind: "put", collection, ...entry })));
    }
  }
  return ToolPins.open(store);
}

function readCopy(config: Config): ReturnType<typeof readStoreCopy> {
  try {
    return readStoreCopy(config.store.path, COLLECTIONS);
  } catch (error) {
    throw new FileProblems([storeFault(config, error)]);
  }
}
