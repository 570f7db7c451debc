/** Questions to the person at the terminal of this process; lines typed ahead are not lost. */
import { createInterface } from "node:readline";
import type { Questions } from "../src/programs/init/answers.ts";

/** Undefined where standard input is no terminal, or nobody would see the questions. */
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
  // Ctrl-C and Ctrl-D end up here, too.
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
