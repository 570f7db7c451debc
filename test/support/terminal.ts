/** A terminal that keeps what a program writes, for programs that run in the test's own process. */
import { Readable, Writable } from "node:stream";
import type { Environment } from "../../src/base/environment.ts";
import type { Command } from "../../src/programs/shell/command.ts";
import { runProgram } from "../../src/programs/shell/run-program.ts";
import type { Terminal } from "../../src/programs/shell/terminal.ts";

/** What was written so far. */
export interface Written {
  out: string;
  err: string;
}

/** The world of a program, where it differs from an empty one that nobody sits at. */
export interface World {
  readonly environment?: Environment;
  readonly script?: string;
  readonly input?: string;
  readonly isTerminal?: boolean;
}

/** A program's exit code, and what it wrote. */
export interface ProgramRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** A terminal in a directory. */
export function keepingTerminal(
  directory: string,
  { environment = {}, input = "", isTerminal = false, ...place }: World = {},
): Terminal & { readonly written: Written } {
  const written: Written = { out: "", err: "" };
  const output = (name: keyof Written) => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal,
    hasColour: isTerminal,
  });
  const out = output("out");
  const stream = new Writable({
    write: (chunk, _, done) => {
      out.write(String(chunk));
      done();
    },
  });
  return {
    ...{ out, err: output("err"), directory, environment, written, ...place },
    readInput: async () => input,
    streams: { input: Readable.from(input === "" ? [] : [Buffer.from(input)]), output: stream },
  };
}

/** Runs a program to its end. */
export async function runIn(
  directory: string,
  program: Command,
  args: readonly string[],
  world: World = {},
): Promise<ProgramRun> {
  const terminal = keepingTerminal(directory, world);
  const exitCode = await runProgram(program, args, terminal);
  return { exitCode, ...terminal.written };
}
