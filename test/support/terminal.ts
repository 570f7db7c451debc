/** A terminal that keeps what a program writes, for programs that run in the test's own process. */
import type { Terminal } from "../../src/programs/shell/terminal.ts";

/** What was written so far. */
export interface Written {
  out: string;
  err: string;
}

/** A terminal that nobody sits at. */
export function keepingTerminal(directory: string): Terminal & { readonly written: Written } {
  const written: Written = { out: "", err: "" };
  const output = (name: keyof Written) => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: false,
    hasColour: false,
  });
  const streams = { out: output("out"), err: output("err") };
  return { ...streams, directory, written, readInput: async () => "" };
}
