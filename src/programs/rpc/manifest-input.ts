/** The manifest that a command line names: a file, `-` for standard input, or JSON as it stands. */
import { resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { reasonOf } from "../../base/thrown.ts";
import { type Failure, invalidArgument } from "../../modules/agentcli/failure.ts";
import type { Terminal } from "../shell/terminal.ts";

const MAX_BYTES = 16 * 1024 * 1024;

/** The value that was read: any JSON. */
export interface ManifestInput {
  readonly kind: "input";
  readonly value: unknown;
}

/** Reads and parses it. */
export async function readManifestInput(
  source: string,
  { directory, readInput }: Pick<Terminal, "directory" | "readInput">,
): Promise<ManifestInput | Failure> {
  if (/^\s*[[{]/.test(source)) return parse(source, "the command line");
  if (source === "-") return parse(await readInput(MAX_BYTES), "standard input");
  const { text, fault } = readBoundedFile(resolve(directory, source), MAX_BYTES);
  if (text === undefined) return invalidArgument(`Input not found: ${source} ${fault}`);
  return parse(text, source);
}

function parse(text: string, where: string): ManifestInput | Failure {
  try {
    return { kind: "input", value: JSON.parse(text) as unknown };
  } catch (error) {
    return invalidArgument(`Invalid JSON in ${where}: ${reasonOf(error)}`);
  }
}
