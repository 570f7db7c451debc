/**
 * A start-up problem: something in an operator's files that cannot be served. Loaders collect all
 * problems, and never throw because of a file's content.   AGTP-API "Validation Timing"
 */
import { clip } from "./json-value.ts";

/** A problem in a file. */
export interface Problem {
  /** The file, relative to the deployment directory, with forward slashes; "" if it concerns none. */
  readonly file: string;
  /** The dotted key in the file (`endpoint.handler.url`), or "" for the whole file. */
  readonly key: string;
  /** The fault and the expectation, in lower case without full stop. */
  readonly message: string;
  readonly hint?: string | undefined;
  /** A warning does not affect serving, and does not fail `--check`. */
  readonly severity?: "error" | "warning";
  /** True if it may disappear without a change to any file; a reload goes on in spite of it. */
  readonly isPassing?: boolean;
}

const MAX_KEY_LENGTH = 256;
const MAX_MESSAGE_LENGTH = 4_096;

/** Shortens a problem, since names in a file may be as long as the file. */
export function boundedProblem(problem: Problem): Problem {
  const { key, message } = problem;
  if (key.length <= MAX_KEY_LENGTH && message.length <= MAX_MESSAGE_LENGTH) return problem;
  const told = { key: clip(key, MAX_KEY_LENGTH), message: clip(message, MAX_MESSAGE_LENGTH) };
  return { ...problem, ...told };
}

/** Formats a problem as `endpoints/book_room.toml: endpoint.handler.url: must use https (hint)`. */
export function formatProblem(written: Problem): string {
  const problem = boundedProblem(written);
  const hint = problem.hint === undefined ? "" : ` (${problem.hint})`;
  // Without a file the place is omitted, as for a lost worker or the machine.
  const words = [problem.file, problem.key, problem.message].filter((one) => one !== "");
  return `${words.join(": ")}${hint}`;
}

/** Tells whether a problem is an error, not a warning. */
export function isError(problem: Problem): boolean {
  return problem.severity !== "warning";
}

/** Tells whether no problem with the same key was reported yet. */
export function isNewTo(told: readonly Problem[]): (problem: Problem) => boolean {
  const keys = new Set(told.map(({ file, key }) => JSON.stringify([file, key])));
  return ({ file, key }) => key === "" || !keys.has(JSON.stringify([file, key]));
}

/** Describes a problem; a warning says so. */
export function describeProblem(problem: Problem): string {
  return isError(problem) ? formatProblem(problem) : `warning: ${formatProblem(problem)}`;
}
