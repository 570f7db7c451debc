/**
 * `agtp-keys`: makes and verifies what identity rests on. The exit code is 0 when it was done or
 * everything verified, 1 when a check failed or the answer is no, 2 when it could not be asked.
 */

import type { Environment } from "../../base/environment.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { usage } from "../shell/command-file.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { makeAgentCertificate, makeCa } from "./certificate-commands.ts";
import { parseCommandLine } from "./command-line.ts";
import type { KeysCommandLine, VerifyLine } from "./command-options.ts";
import { makeGenesis } from "./genesis-command.ts";
import { repair } from "./repair-command.ts";
import { makeSigningKey } from "./signing-command.ts";
import { verifyChainOf } from "./verify-chain-command.ts";
import { verifyFiles } from "./verify-files.ts";

/** Runs the program and answers its exit code. */
export async function runKeysCommand(
  args: readonly string[],
  terminal: Terminal,
  environment: Environment = {},
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    return (await run(line, terminal, environment)) ? 0 : 1;
  } catch (error) {
    const isRefusal = error instanceof CommandRefusal;
    if (!isRefusal && !(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp-keys: ${defuseLine(error.message)}\n`);
    return isRefusal ? 1 : 2;
  }
}

/** Whether the answer is yes. */
async function run(
  line: KeysCommandLine,
  terminal: Terminal,
  environment: Environment,
): Promise<boolean> {
  switch (line.kind) {
    case "signing":
      makeSigningKey(line, terminal);
      return true;
    case "genesis":
      makeGenesis(line, terminal);
      return true;
    case "agent-ca":
      await makeCa(line, terminal);
      return true;
    case "agent-cert":
      await makeAgentCertificate(line, terminal);
      return true;
    case "verify":
      return verify(line, terminal);
    case "repair":
      await repair(line, terminal, environment);
      return true;
  }
}

async function verify(line: VerifyLine, terminal: Terminal): Promise<boolean> {
  const { chain } = line;
  if (chain !== undefined) return verifyChainOf({ ...line, chain }, terminal);
  if (line.files.length === 0) throw usage("expected files to verify, or --chain");
  return verifyFiles(line, terminal, Date.now());
}
