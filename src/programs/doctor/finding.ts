/** What the doctor finds, and what a check is: one question about a deployment, asked of its files. */
import type { Subject } from "./subject.ts";

/** An error is serious, a warning should be looked at; a note is for who wants to know. */
export type Severity = "error" | "warning" | "note";

/** One thing that a check saw. */
export interface Observation {
  readonly severity: Severity;
  /** Relative to the deployment directory where it lies there; "" for the machine. */
  readonly file: string;
  /** Dotted key in the file, or "". */
  readonly key: string;
  /** Lower case, no full stop: what is so. */
  readonly message: string;
  /** Lower case, no full stop: what to do about it. */
  readonly remedy: string;
}

/** An observation, and the check that made it. */
export interface Finding extends Observation {
  readonly id: string;
}

/** One question. A throw says that it could not be asked. */
export interface Check {
  /** Kebab-case; the file's name. */
  readonly id: string;
  /** The question, for people. */
  readonly asks: string;
  look(subject: Subject): readonly Observation[];
}
