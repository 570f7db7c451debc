/** `agtpd nodes`: the processes that serve a deployment. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { type Command, command } from "../shell/command.ts";
import { printJson } from "../shell/findings.ts";
import { defuseLine } from "../shell/terminal.ts";
import { askDaemon } from "./ask-daemon.ts";
import { CONFIG, NOTES } from "./commands.ts";

const COLUMNS = ["node", "state", "address", "version", "since", "lease_ms"];

/** Lists them, a line each. */
export function nodesCommand(): Command {
  return command({
    name: "agtpd nodes",
    description: "Lists the processes that serve a deployment.",
    options: { "--config <file>": CONFIG, "--json": "print JSON" },
    notes: NOTES,
    run: async ({ config, json = false }, terminal) => {
      const { nodes } = await askDaemon({ command: "nodes", config }, terminal);
      const known = Array.isArray(nodes) ? nodes.filter(isRecord) : [];
      if (json) printJson(known, terminal.out);
      else for (const line of linesOf(known)) terminal.out.write(`${line}\n`);
      return true;
    },
  });
}

/** A heading and a line each, in columns. */
function linesOf(nodes: readonly JsonRecord[]): readonly string[] {
  const rows = [COLUMNS, ...nodes.map((node) => COLUMNS.map((name) => cell(node[name])))];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function cell(value: unknown): string {
  return value === null || value === undefined ? "-" : defuseLine(String(value));
}
