/**
 * A start-up problem: something an operator wrote that cannot be served. Loaders collect all of
 * them and never throw for what is in a file.   AGTP-API "Validation Timing"
 */
import { clip } from "./json-value.ts";

/** One thing that is wrong with a file. */
export interface Problem {
  /** The file, relative to the deployment directory, with forward slashes; "" where it is about none. */
  readonly file: string;
  /** Dotted key inside the file (`endpoint.handler.url`), or "" for the file as a whole. */
  readonly key: string;
  /** Lower case, no full stop: what was wrong, and what was expected. */
  readonly message: string;
  readonly hint?: string | undefined;
  /** A warning changes nothing about what is served and does not fail `--check`. */
  readonly severity?: "error" | "warning";
  /** It may pass by itself, without a change to any file: a reload of everything else goes on. */
  readonly isPassing?: boolean;
}

const MAX_KEY_LENGTH = 256;
const MAX_MESSAGE_LENGTH = 4_096;

/** A problem that can be told: names in a file may be as long as the file. */
export function boundedProblem(problem: Problem): Problem {
  const { key, message } = problem;
  if (key.length <= MAX_KEY_LENGTH && message.length <= MAX_MESSAGE_LENGTH) return problem;
  const told = { key: clip(key, MAX_KEY_LENGTH), message: clip(message, MAX_MESSAGE_LENGTH) };
  return { ...problem, ...told };
}

/** `endpoints/book_room.toml: endpoint.handler.url: must use https (hint)` */
export function formatProblem(written: Problem): string {
  const problem = boundedProblem(written);
  const hint = problem.hint === undefined ? "" : ` (${problem.hint})`;
  // One of no file has no place: a worker that is gone, a machine.
  const words = [problem.file, problem.key, problem.message].filter((one) => one !== "");
  return `${words.join(": ")}${hint}`;
}

/** Tells whether a problem stops something from being served, as opposed to a warning. */
export function isError(problem: Problem): boolean {
  return problem.severity !== "warning";
}

/** Tells whether nothing was told of the same key yet. */
export function isNewTo(told: readonly Problem[]): (problem: Problem) => boolean {
  const keys = new Set(told.map(({ file, key }) => JSON.stringify([file, key])));
  return ({ file, key }) => key === "" || !keys.has(JSON.stringify([file, key]));
}

/** A problem in words, a warning as one. */
export function describeProblem(problem: Problem): string {
  return isError(problem) ? formatProblem(problem) : `warning: ${formatProblem(problem)}`;
}
