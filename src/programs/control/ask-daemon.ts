/** Asks the daemon that runs over a deployment, through the control socket in its state directory. */
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { socketAddress } from "../../base/socket-address.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { controlPath } from "../../state/state-directory.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import type { Terminal } from "../shell/terminal.ts";

/** A command for the daemon of a configuration file. */
export interface DaemonQuestion {
  readonly command: string;
  readonly options?: JsonRecord;
  /** The configuration file, as it was written. */
  readonly config: string;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * Its result.
 * @throws CommandRefusal where no daemon runs, or it refuses.
 */
export async function askDaemon(
  { command, options = {}, config }: DaemonQuestion,
  { directory }: Pick<Terminal, "directory">,
): Promise<JsonRecord> {
  const path = controlPath(dirname(resolve(directory, config)));
  const line = await exchange(path, `${JSON.stringify({ command, options })}\n`, config);
  const answer = parse(line);
  if (answer["ok"] === true && isRecord(answer["result"])) return answer["result"];
  const message = answer["message"];
  throw new CommandRefusal(
    typeof message === "string" ? message : `the daemon of ${config} ended without an answer`,
  );
}

function parse(line: string): JsonRecord {
  try {
    const answer: unknown = JSON.parse(line);
    return isRecord(answer) ? answer : {};
  } catch {
    return {};
  }
}

function exchange(path: string, line: string, config: string): Promise<string> {
  return new Promise((done, fail) => {
    const refuse = (error: unknown): void => fail(new CommandRefusal(describe(error, config)));
    let address: string;
    try {
      address = socketAddress(path);
    } catch (error) {
      refuse(error);
      return;
    }
    const socket = connect(address, () => socket.write(line));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MAX_ANSWER_BYTES) socket.destroy();
    });
    socket.once("error", refuse);
    socket.once("close", () => done(text));
  });
}

function describe(error: unknown, config: string): string {
  switch (codeOf(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      return `no daemon runs for ${config}`;
    case "EACCES":
    case "EPERM":
      return `the daemon of ${config} is another user's`;
    default:
      return `the daemon of ${config} cannot be asked: ${reasonOf(error)}`;
  }
}
