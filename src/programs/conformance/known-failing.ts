/**
 * The list of cases that a server is known to fail, each with the reason: one a line, the case's name,
 * a colon and why. Lines that begin with `#` are remarks. A list that names what is no case, or gives
 * no reason, is not used at all.
 */
import type { Problem } from "../../base/problem.ts";

/** Reasons by the name of the case. */
export type KnownFailing = ReadonlyMap<string, string>;

/** The list, and what is wrong with the file. */
interface KnownFailingResult {
  readonly known: KnownFailing;
  readonly problems: readonly Problem[];
}

const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]*):\s*(.*)$/;

/** Reads the text of a list; `names` are the cases that there are. */
export function parseKnownFailing(
  text: string,
  file: string,
  names: ReadonlySet<string>,
): KnownFailingResult {
  const known = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const written = line.trim();
    if (written === "" || written.startsWith("#")) continue;
    const fault = take(written, known, names);
    if (fault !== undefined) problems.push({ file, key: `line ${index + 1}`, message: fault });
  }
  return { known, problems };
}

function take(
  line: string,
  known: Map<string, string>,
  names: ReadonlySet<string>,
): string | undefined {
  const [, name, reason = ""] = LINE.exec(line) ?? [];
  if (name === undefined) return "expected the name of a case, a colon and the reason";
  if (!names.has(name)) return `there is no case "${name}"`;
  if (known.has(name)) return `the case "${name}" is listed twice`;
  if (reason === "") return `the case "${name}" is listed without a reason`;
  known.set(name, reason);
  return undefined;
}
