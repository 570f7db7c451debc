/** `agtpd passkeys`: the passkeys of people at the console, and the way on for who has lost them. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { type Command, command } from "../shell/command.ts";
import { printJson } from "../shell/findings.ts";
import { defuseLine } from "../shell/terminal.ts";
import { askDaemon } from "./ask-daemon.ts";
import { CONFIG, NOTES } from "./commands.ts";

/** Lists them, a line each. */
export function passkeysCommand(): Command {
  return command({
    name: "agtpd passkeys",
    description: "Lists the passkeys of people at the console, or forgets a person's.",
    options: {
      "--config <file>": CONFIG,
      "--forget <person>": "forgets the passkeys of a person, such as link:nina, who then has none",
      "--json": "print JSON",
    },
    notes: NOTES,
    run: async ({ config, forget, json = false }, terminal) => {
      const options = forget === undefined ? {} : { forget };
      const answer = await askDaemon({ command: "passkeys", options, config }, terminal);
      if (json) printJson(answer, terminal.out);
      else for (const line of linesOf(answer)) terminal.out.write(`${defuseLine(line)}\n`);
      return true;
    },
  });
}

function linesOf({ passkeys }: JsonRecord): readonly string[] {
  const known = Array.isArray(passkeys) ? passkeys.filter(isRecord) : [];
  if (known.length === 0) return ["nobody has a passkey"];
  return known.map(({ person, name, created_at, used_at }) => {
    const used = used_at === null ? "not used" : `used ${String(used_at)}`;
    return `${String(person)}: ${String(name)}, registered ${String(created_at)}, ${used}`;
  });
}
