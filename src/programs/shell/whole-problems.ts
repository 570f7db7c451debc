/** Prints problems in full, like the daemon, because some have several lines, such as statements to run. */
import { describeProblem, type Problem } from "../../base/problem.ts";
import { defuse, type Output } from "./terminal.ts";

/** Prints problems, without control characters from files. */
export function printWholeProblems(problems: readonly Problem[], output: Output): void {
  for (const problem of problems) output.write(`${defuse(describeProblem(problem))}\n`);
}
