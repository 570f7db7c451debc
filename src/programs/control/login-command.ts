/** `agtpd login`: a link to the console of a daemon that runs, for whoever runs it. */
import { type Command, command } from "../shell/command.ts";
import { printJson } from "../shell/findings.ts";
import { askDaemon } from "./ask-daemon.ts";
import { CONFIG, NOTES } from "./commands.ts";

/** Prints it; only pressing the button on its page uses it up. */
export function loginCommand(): Command {
  return command({
    name: "agtpd login",
    description: "Prints a link to the console, good for one use and for five minutes.",
    options: {
      "--config <file>": CONFIG,
      "--role <role>": {
        help: "a viewer sees, an operator decides",
        choices: ["viewer", "operator"],
        default: "operator",
      },
      "--name <name>": "whom records name; the name of the system's user without it",
      "--json": "print JSON",
    },
    notes: NOTES,
    run: async ({ config, role, name, json = false }, terminal) => {
      const { USER, LOGNAME } = terminal.environment;
      const options = { role, name: name ?? USER ?? LOGNAME ?? "operator" };
      const answer = await askDaemon({ command: "login", options, config }, terminal);
      if (json) printJson(answer, terminal.out);
      else terminal.out.write(`${String(answer["url"])}\n`);
      return true;
    },
  });
}
