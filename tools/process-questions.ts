/** Asks the person at this process's terminal; lines typed ahead are kept. */
import { createInterface } from "node:readline";
import type { Questions } from "../src/programs/init/answers.ts";

/** Undefined if standard input is not a terminal, or nobody would see the questions. */
export function openQuestions(): Questions | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const said: string[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  lines.on("line", (line) => {
    said.push(line);
    wake();
  });
  // Also called for Ctrl-C and Ctrl-D.
  lines.on("close", () => {
    isOver = true;
    wake();
  });
  return {
    ask: async (question) => {
      if (!isOver) {
        lines.setPrompt(question);
        lines.prompt();
      }
      while (said.length === 0 && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return said.shift();
    },
    close: () => lines.close(),
  };
}
