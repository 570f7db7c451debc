/** The terminal of this process, as the programs take it. */
import type { Output, Terminal } from "../src/programs/shell/terminal.ts";

/** Ends the process quietly when whoever reads its output stops early, as `head` does. */
export function processTerminal(readInput: Terminal["readInput"]): Terminal {
  process.stdout.on("error", () => process.exit());
  return {
    out: output(process.stdout),
    err: output(process.stderr),
    directory: process.cwd(),
    readInput,
  };
}

function output(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    isTerminal,
    hasColour: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
  };
}
