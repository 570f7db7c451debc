/**
 * `agtp-mcp`: puts MCP in front of AGTP servers, and MCP servers behind one. The exit code is 0 on
 * success, 1 when the command was refused, 2 when it could not be carried out.
 */
import { type Command, command } from "../shell/command.ts";
import { FRONT_ARGS, FRONT_OPTIONS } from "./front-options.ts";

const NOTES = `
Examples:
  agtp-mcp agtp://localhost --agent-id 4f…       an MCP server on standard input and output
  agtp-mcp import github -o endpoints/github
  agtp-mcp pins

With a URI it speaks MCP until standard input ends; messages go to standard error.`;

export const mcpProgram: Command = command({
  name: "agtp-mcp",
  description: "MCP in front of an AGTP server for desktop clients; MCP servers behind contract.",
  args: FRONT_ARGS,
  options: FRONT_OPTIONS,
  notes: NOTES,
  hasLongMessages: true,
  programs: [
    {
      name: "import",
      description:
        "Writes the tools of an MCP server as endpoint files to review, with their pins.",
      load: async () => (await import("./import-command.ts")).importCommand,
    },
    {
      name: "pins",
      description: "Lists pinned tools and what has become of them; accepts a changed definition.",
      load: async () => (await import("./pins-command.ts")).pinsCommand,
    },
  ],
  run: async (line, terminal): Promise<undefined> => {
    // Loaded on demand, so that --help does not wait for the library.
    await (await import("./front-command.ts")).runFront(line, terminal);
  },
});
