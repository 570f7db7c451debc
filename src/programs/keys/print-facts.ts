/** Options of the commands of `agtp-keys` that make something, and how they say what they made. */
import { printJson } from "../shell/findings.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";

/** Said of every command that makes files. */
export const MAKING_OPTIONS = {
  "--json": "print JSON",
  "--force": "replace files that are there",
} as const;

/** Names in snake_case, values as they are; undefined ones are left out. */
type Facts = Readonly<Record<string, string | undefined>>;

/** Prints facts in two columns, or as JSON. */
export function printFacts(facts: Facts, json: boolean, { out }: Terminal): void {
  if (json) {
    printJson(facts, out);
    return;
  }
  const entries = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.replaceAll("_", " "), value] as const],
  );
  const width = Math.max(...entries.map(([name]) => name.length));
  for (const [name, value] of entries) {
    out.write(`${name.padEnd(width)}  ${defuseLine(value)}\n`);
  }
}
