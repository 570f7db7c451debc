/** `agtp-keys verify`: files, or a chain. */
import { type Command, command } from "../shell/command.ts";
import { usage } from "../shell/command-file.ts";
import { verifyChainOf } from "./verify-chain-command.ts";
import { verifyFiles } from "./verify-files.ts";
import { VERIFY_ARGS, VERIFY_OPTIONS } from "./verify-options.ts";

/** The command; its answer is whether everything verified. */
export const verifyCommand: Command = command({
  name: "verify",
  description: "Verifies files, recognised by their content, or an attribution chain.",
  args: VERIFY_ARGS,
  options: VERIFY_OPTIONS,
  run: (line, terminal) => {
    const { chain, files } = line;
    if (chain !== undefined) return verifyChainOf({ ...line, chain }, terminal);
    if (files.length === 0) throw usage("expected files to verify, or --chain");
    return verifyFiles(line, terminal, Date.now());
  },
});
