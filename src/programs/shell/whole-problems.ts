/** Problems as the daemon tells them: whole, as some have lines of their own, such as statements to run. */
import { describeProblem, type Problem } from "../../base/problem.ts";
import { defuse, type Output } from "./terminal.ts";

/** Prints problems, without the control characters that a file may have. */
export function printWholeProblems(problems: readonly Problem[], output: Output): void {
  for (const problem of problems) output.write(`${defuse(describeProblem(problem))}\n`);
}
