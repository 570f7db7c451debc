/** Asks the daemon that runs over a deployment, through the control socket in its state directory. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isRecord, type JsonRecord, parseRecord } from "../../base/json-value.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { askControl } from "../../client/ask-control.ts";
import { controlPath } from "../../state/state-directory.ts";
import { CommandRefusal } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";

/** A command for the daemon of a configuration file. */
interface DaemonQuestion {
  readonly command: string;
  readonly options?: JsonRecord;
  /** The configuration file, as it was written. */
  readonly config: string;
}

/**
 * Its result.
 * @throws CommandRefusal where no daemon runs, or it refuses.
 */
export async function askDaemon(
  { command, options = {}, config }: DaemonQuestion,
  { directory }: Pick<Terminal, "directory">,
): Promise<JsonRecord> {
  const path = controlPath(dirname(resolve(directory, config)));
  const question = JSON.stringify({ command, options });
  const line = await askControl(path, question).catch((error: unknown) => {
    throw new CommandRefusal(describe(error, config, existsSync(resolve(directory, config))));
  });
  const answer = parseRecord(line) ?? {};
  if (answer["ok"] === true && isRecord(answer["result"])) return answer["result"];
  const message = answer["message"];
  throw new CommandRefusal(
    typeof message === "string" ? message : `the daemon of ${config} ended without an answer`,
  );
}

function describe(error: unknown, config: string, isThere: boolean): string {
  switch (codeOf(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      return isThere
        ? `no daemon runs for ${config} (agtpd starts one, --config FILE names another deployment)`
        : `${config}: does not exist (--config FILE names the deployment)`;
    case "EACCES":
    case "EPERM":
      return `the daemon of ${config} is another user's`;
    default:
      return `the daemon of ${config} cannot be asked: ${reasonOf(error)}`;
  }
}
