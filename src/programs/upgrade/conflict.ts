/** A conflict of a new catalog with one place of a deployment, in the words of the JSON report. */
import type { Reference } from "./reference.ts";

/** The groups of AGTP-API §4.7. */
export type ConflictGroup = "path-grammar" | "endpoint" | "recipe" | "policy";

/** The daemon's reaction. */
export type ConflictEffect =
  /** The endpoint or the recipe is refused when it is loaded. */
  | "not-served"
  /** The entry is passed over with a warning.   AGTP-API §9.4 */
  | "skipped"
  /** The configuration is refused, so nothing is served. */
  | "stops-start"
  /** It is served as before, and means something else. */
  | "changes-meaning"
  /** Requests that were accepted are answered with 460. */
  | "refused-requests";

/** One place that breaks. */
export interface Conflict {
  readonly group: ConflictGroup;
  readonly effect: ConflictEffect;
  readonly reference: Reference;
  /** The method that was added or removed. */
  readonly method: string;
  /** The method to use instead, where one was announced. */
  readonly successor?: string;
  /** The method's fate, and its effect here. */
  readonly message: string;
  /** An operator's remedy. */
  readonly remedy: string;
}

/** One place that goes on working, and that an operator should know of. */
export interface Notice {
  readonly kind: "deprecated" | "unknown";
  readonly reference: Reference;
  readonly method: string;
  readonly successor?: string;
  readonly removedIn?: string;
  readonly message: string;
}
