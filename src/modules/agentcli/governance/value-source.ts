/**
 * The source of a value: a variable, a file, or a command for `sh -c` where the caller permits
 * that. Answers the value, or in words why there is none.
 */
import { resolve } from "node:path";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import type { ValueSource } from "../manifest/governance-fields.ts";
import type { World } from "../world.ts";

const MAX_BYTES = 1_048_576;
const COMMAND_TIMEOUT_MS = 30_000;

/** A value, or its absence in words. */
type SourcedValue =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "absent"; readonly message: string };

/** Looks in the first place that is named. */
export async function readSource(
  source: ValueSource,
  world: World,
  mayRunCommands: boolean,
): Promise<SourcedValue> {
  const { env: name, file, command } = source;
  if (name !== undefined && name !== null) {
    const value = world.env[name];
    return present(value, `environment variable "${name}" is not set or is empty`);
  }
  if (file !== undefined && file !== null) {
    const { text, fault } = readBoundedFile(resolve(world.directory, file), MAX_BYTES);
    return present(text?.trim(), `file "${file}" ${fault ?? "is empty"}`);
  }
  if (command === undefined || command === null) return absent("no source is named");
  if (!mayRunCommands) return absent("its command is not run here");
  const end = await world.runProgram({
    program: "sh",
    args: ["-c", command],
    env: world.env,
    directory: world.directory,
    timeoutMs: COMMAND_TIMEOUT_MS,
  });
  if (end.kind === "fault") return absent(`its command ${end.message}`);
  if (end.code !== 0) return absent(`its command ended with exit code ${end.code}`);
  return present(end.stdout.trim(), "its command put out nothing");
}

function present(value: string | undefined, message: string): SourcedValue {
  return value === undefined || value === "" ? absent(message) : { kind: "value", value };
}

function absent(message: string): SourcedValue {
  return { kind: "absent", message };
}
