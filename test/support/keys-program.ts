/** `agtp-keys` in process, in a directory of its own. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keysProgram } from "../../src/programs/keys/command.ts";
import { type Files, makeDirectory } from "./directory.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

interface KeysRun extends ProgramRun {
  /** The output of a run with --json. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface KeysProgram {
  readonly directory: string;
  run(...args: readonly string[]): Promise<KeysRun>;
  read(file: string): string;
  write(file: string, content: string): void;
  /** Rewrites a file of JSON. */
  edit(file: string, change: (document: Record<string, unknown>) => object): void;
}

/** The program for the running test, in a new directory unless it is given one. */
export function makeKeysProgram(
  files: Files = {},
  directory: string = makeDirectory(files),
): KeysProgram {
  const read = (file: string): string => readFileSync(join(directory, file), "utf8");
  const write = (file: string, content: string): void =>
    writeFileSync(join(directory, file), content);
  return {
    directory,
    read,
    write,
    edit: (file, change) => write(file, JSON.stringify(change(JSON.parse(read(file))))),
    run: (...args) => run(directory, args),
  };
}

async function run(directory: string, args: readonly string[]): Promise<KeysRun> {
  const ran = await runIn(directory, keysProgram, args);
  const json = ran.out.startsWith("{") ? JSON.parse(ran.out) : {};
  return { ...ran, json };
}

/** An issuer's key, and an agent called lauren by it. */
export async function makeLauren(program: KeysProgram): Promise<string> {
  await program.run("signing");
  const { json, err } = await program.run("genesis", "--json", ...LAUREN);
  if (err !== "") throw new Error(err);
  return String(json["agent_id"]);
}

export const LAUREN: readonly string[] = [
  ...["--name", "lauren", "--principal", "Acme Retail", "--owner-id", "acme"],
  ...["--issuer-key", ".agtp/keys/signing.pem", "--scope", "booking:room,orders:*"],
];
