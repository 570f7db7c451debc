/** The JSON output of programs: every `--json` has the same form, even without a result. */
import type { Problem } from "../../base/problem.ts";
import { defuseJson, type Output } from "./terminal.ts";

/** A JSON document as it is printed and written to files. */
export function jsonText(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Prints a JSON document, as every `--json` does. */
export function printJson(document: unknown, out: Output): void {
  out.write(defuseJson(jsonText(document), out));
}

/** Prints a failure in the form of file problems; if there are such, they are printed instead. */
export function printFailure(
  failure: Pick<Problem, "message" | "hint">,
  out: Output,
  ofFiles: readonly Problem[] = [],
): void {
  const problems = ofFiles.length > 0 ? ofFiles : [{ file: "", key: "", ...failure }];
  printJson({ ok: false, problems }, out);
}
