/** The root that the reading of a document begins at, and the collector of its faults. */
import { DocumentPlace, type Place, type Remark } from "./document-place.ts";
import { type DocumentStyle, TOML_STYLE } from "./document-style.ts";
import type { Problem } from "./problem.ts";

/** A hostile file may be wrong in a hundred thousand places; nobody reads that many problems. */
const MAX_PROBLEMS = 200;

/** The style in which a document is read; that of an operator's file unless told. */
export interface DocumentOptions {
  readonly style?: DocumentStyle;
  /** Problems that somebody reads. */
  readonly most?: number;
}

/** The root of a document, or a part of it, whose faults become problems of its file. */
export function documentAt(
  value: unknown,
  { file, key }: Place,
  problems: Problem[],
  { style = TOML_STYLE, most = MAX_PROBLEMS }: DocumentOptions = {},
): DocumentPlace {
  const reader = {
    style,
    report({ clause: _, ...problem }: Remark): boolean {
      if (problems.length < most) problems.push(problem);
      return problems.length < most;
    },
  };
  return new DocumentPlace(value, { file, key, name: key, clause: "" }, reader);
}
