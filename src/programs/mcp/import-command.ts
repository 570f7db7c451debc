/**
 * `agtp-mcp import`: drafts endpoint files for the tools of an MCP server, to be reviewed. Either
 * every file is written or none, and existing files are only replaced on request.
 */
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { loadConfig } from "../../app/config/load.ts";
import { given } from "../../base/json-value.ts";
import { reasonOf } from "../../base/thrown.ts";
import { loadShippedCatalog, SIGNING_KEY } from "../../openapi/import-files.ts";
import { writeInline, writeToml } from "../../openapi/write-toml.ts";
import { withEndpointLines } from "../editors/schema-files.ts";
import { type Command, CommandRefusal, command, usage } from "../shell/command.ts";
import { firstCall, firstCallText } from "../shell/first-call.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { writeFiles } from "../shell/write-files.ts";
import { type DraftedTools, type Drafting, draftTools } from "./draft-tools.ts";
import { askTools, type NamedServer, nameServer, USUAL_CONFIG } from "./named-server.ts";

const NOTES = `
Examples:
  agtp-mcp import github -o endpoints/github --keep-names
  agtp-mcp import https://mcp.example/mcp -o endpoints --prefix
  agtp-mcp import -o endpoints/files -- npx some-mcp-server ./data
  agtp-mcp import -o endpoints/github --env GITHUB_TOKEN -- npx some-mcp-server

The files pass agtpd --check as they are, once the server is in agtp-server.toml; for a URL or a
command the entry to add is printed. What is marked REVIEW is for a person to judge.`;

export const importCommand: Command = command({
  name: "agtp-mcp import",
  description: "Writes the tools of an MCP server as endpoint files to review, with their pins.",
  args: {
    "<server>": "a name of [[mcp.servers]], a URL, or behind -- a command",
    "[args...]": "arguments of the command",
  },
  options: {
    "-o, --output <dir>": "the directory that the endpoint files are written to",
    "--config <file>": { help: "where [[mcp.servers]] are", default: USUAL_CONFIG },
    "--name <name>": "the server's name, where it is none of the configuration",
    "--env <variable>": {
      help: "of this environment, for the command to have; may be repeated",
      isRepeated: true,
    },
    "--only <tool>": { help: "only this tool; may be repeated", isRepeated: true },
    "--keep-names": "MCP clients of this daemon see the tools under the server's own names",
    "--prefix": "put the server's name before those of files, and of tools that keep theirs",
    "--force": "replace files that are there",
    "--json": "print what was made as JSON",
  },
  notes: NOTES,
  run: async (line, terminal) => {
    const { args, output } = splitOutput(line.args, line.output);
    if (output === undefined) throw usage("expected -o DIR, where the endpoint files go");
    const { config, name, env, only, force = false, json = false } = line;
    const { keepNames: keepsNames = false, prefix: isPrefixed = false } = line;
    const naming = { config, variables: env, ...(name === undefined ? {} : { name }) };
    const named = nameServer(line.server, args, naming, terminal);
    const drafted = await draft(named, only, { keepsNames, isPrefixed }, terminal);
    const files = drafted.tools.map(({ file, text }) => ({
      ...{ path: join(output, file), content: text, isSecret: false },
    }));
    const { directory } = terminal;
    const elsewhere = isPrefixed ? undefined : "--prefix names them after the server";
    writeFiles(directory, withEndpointLines(files, { directory, config }), force, elsewhere);
    if (json) printJson(report(named, drafted), terminal.out);
    else tell(named, drafted, { output, config }, terminal);
  },
});

/** After `--` everything belongs to the server's command, but a final `-o DIR` is still this program's option. */
function splitOutput(
  args: readonly string[],
  output: string | undefined,
): { readonly args: readonly string[]; readonly output: string | undefined } {
  const flag = args.at(-2);
  const isOurs = output === undefined && (flag === "-o" || flag === "--output");
  return isOurs ? { args: args.slice(0, -2), output: args.at(-1) } : { args, output };
}

async function draft(
  { settings, entry }: NamedServer,
  only: readonly string[],
  naming: Pick<Drafting, "keepsNames" | "isPrefixed">,
  terminal: Terminal,
): Promise<DraftedTools> {
  const offered = await askTools(settings, terminal).catch((error: unknown) => {
    const fault = `the MCP server "${settings.name}" cannot be asked: ${reasonOf(error)}`;
    const isUnknown = entry !== undefined && fault.includes(": there is no program ");
    throw usage(
      isUnknown ? `${fault} (it is no name of [[mcp.servers]], so it was run as a command)` : fault,
    );
  });
  const unknown = only.filter((tool) => !offered.has(tool));
  if (unknown.length > 0) throw new CommandRefusal(`the server has no tool ${unknown.join(", ")}`);
  const chosen = [...offered.values()].filter(
    ({ definition: { name } }) => only.length === 0 || only.includes(name),
  );
  if (chosen.length === 0) throw new CommandRefusal("the server has no tools");
  const definitions = chosen.filter(({ isTask }) => !isTask).map(({ definition }) => definition);
  const drafting = { server: settings.name, catalog: loadShippedCatalog().catalog, ...naming };
  const { tools, leftOut } = draftTools(definitions, drafting);
  const tasks = chosen.filter(({ isTask }) => isTask);
  const uncalled = tasks.map(({ definition: { name } }) => ({ tool: name, reason: TASK }));
  return { tools, leftOut: [...leftOut, ...uncalled] };
}

const TASK = "its server runs it as a task alone (taskSupport: required), and no call here is one";

function report({ settings, entry }: NamedServer, { tools, leftOut }: DraftedTools): object {
  return {
    server: settings.name,
    mcp_server: entry,
    endpoints: tools.map(({ tool, method, path, file, pin, reviews }) => ({
      ...{ tool, method, path, file, definition: pin, review: reviews },
    })),
    left_out: leftOut,
  };
}

function tell(
  { entry }: NamedServer,
  { tools, leftOut }: DraftedTools,
  { output, config }: { readonly output: string; readonly config: string },
  terminal: Terminal,
): void {
  const { out, err } = terminal;
  for (const { tool, method, path, pin } of tools) {
    out.write(`${defuseLine(`${method} ${path}  ${tool}  ${pin}`)}\n`);
  }
  for (const { tool, reason } of leftOut)
    err.write(`${defuseLine(`left out: ${tool}: ${reason}`)}\n`);
  const count = tools.length === 1 ? "1 endpoint" : `${tools.length} endpoints`;
  err.write(`${count} in ${output}, all to review: look for REVIEW\n`);
  if (entry !== undefined) {
    err.write("add to agtp-server.toml:\n");
    const { env, ...rest } = entry;
    const variables = env === undefined ? "" : `env = ${writeInline(env)}\n`;
    out.write(`\n[[mcp.servers]]\n${writeToml(rest)}${variables}`);
  }
  const way = { ...placeOf(output, config, terminal), scope: "imported:call" };
  err.write(firstCallText(firstCall(tools, { ...way, hasVariables: false })));
}

/** The deployment of the endpoints; paths are shown as seen from there. */
function placeOf(output: string, config: string, { directory, environment }: Terminal) {
  const file = resolve(directory, config);
  const [written, home] = [dirname(config), dirname(file)];
  const { server, agents } = (existsSync(file) && loadConfig(file, environment).config) || {};
  return {
    home,
    ...(written === "." ? {} : { directory: written }),
    ...given({ port: server?.port, agents: agents && relative(home, agents.dir) }),
    endpoints: written === "." ? output : relative(home, resolve(directory, output)) || ".",
    hasKey: existsSync(join(home, SIGNING_KEY)),
  };
}
