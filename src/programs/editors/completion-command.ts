/** `agtpd completion`: completions of all programs, for a shell. */
import { type Command, command } from "../shell/command.ts";
import { usage } from "../shell/command-file.ts";
import { completionScript, SHELLS } from "./completion-scripts.ts";
import { completedCommands } from "./completion-tree.ts";

const NOTES = `
Examples:
  source <(agtpd completion bash)                 in ~/.bashrc
  source <(agtpd completion zsh)                  in ~/.zshrc, behind compinit
  agtpd completion fish > ~/.config/fish/completions/agtpd.fish`;

/** Prints the script; `programs` are loaded for it. */
export function completionCommand(programs: () => Promise<readonly Command[]>): Command {
  return command({
    name: "agtpd completion",
    description: "Prints completions of agtpd and the programs beside it.",
    args: { "<shell>": SHELLS.join(" | ") },
    notes: NOTES,
    run: async ({ shell }, { out }) => {
      const known = SHELLS.find((one) => one === shell);
      if (known === undefined) {
        throw usage(`no completions for ${JSON.stringify(shell)}: ${SHELLS.join(", ")}`);
      }
      const commands = [];
      for (const program of await programs()) commands.push(...(await completedCommands(program)));
      out.write(completionScript(known, commands));
      return true;
    },
  });
}
