/** How the commands of `agtp-keys` that make something say what they made. */
import { defuseLine, type Terminal } from "../shell/terminal.ts";

/** Names in snake_case, values as they are; undefined ones are left out. */
export type Facts = Readonly<Record<string, string | undefined>>;

/** Prints facts in two columns, or as JSON. */
export function printFacts(facts: Facts, json: boolean, { out }: Terminal): void {
  if (json) {
    out.write(`${JSON.stringify(facts, undefined, 2)}\n`);
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
