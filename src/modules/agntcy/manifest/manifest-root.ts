/**
 * Begins the reading of a manifest: null is the same as absent, as generated documents have it;
 * members that nobody knows are left alone.
 */
import { type DocumentPlace, documentAt } from "../../../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE } from "../../../base/document-style.ts";
import type { Problem } from "../../../base/problem.ts";

/** The longest text of a manifest. */
export const MAX_TEXT_LENGTH = 4096;
/** A hostile manifest may be wrong in a hundred thousand places. */
const MAX_PROBLEMS = 100;

const STYLE: DocumentStyle = {
  ...JSON_STYLE,
  text: `a text of at most ${MAX_TEXT_LENGTH} characters`,
  longestText: MAX_TEXT_LENGTH,
  isNullAbsent: true,
  quotesWords: true,
};

/** The root of a manifest; problems name it `file`. */
export function manifestRoot(value: unknown, file: string, problems: Problem[]): DocumentPlace {
  return documentAt(value, { file, key: "" }, problems, { style: STYLE, most: MAX_PROBLEMS });
}
