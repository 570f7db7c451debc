/**
 * The cases of a folder, in the order of the draft's sections: those that come with the product, or
 * somebody's own. A file that is no case is a problem.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describeFileError, readBoundedFile } from "../../base/bounded-file.ts";
import type { Problem } from "../../base/problem.ts";
import { shippedPath } from "../../base/shipped-path.ts";
import { type ConformanceCase, parseCase } from "./case.ts";
import { compareClauses } from "./clauses.ts";

/** The cases, and what is wrong with files that are none. */
interface LoadedCases {
  readonly cases: readonly ConformanceCase[];
  readonly problems: readonly Problem[];
}

const SUFFIX = ".agtp";
const MAX_CASES = 1000;
const MAX_CASE_BYTES = 65_536;

/** The folder of the product's own cases. */
export function shippedCasesPath(): string {
  return shippedPath("conformance");
}

/** Reads every `.agtp` file of a folder. */
export function loadCases(folder: string): LoadedCases {
  const { names, fault } = listCases(folder);
  if (fault !== undefined) {
    return { cases: [], problems: [{ file: folder, key: "", message: fault }] };
  }
  const cases: ConformanceCase[] = [];
  const problems: Problem[] = [];
  for (const name of names) {
    const { text, fault } = readBoundedFile(join(folder, name), MAX_CASE_BYTES);
    const read =
      text === undefined
        ? { case: undefined, problems: [{ file: name, key: "", message: fault }] }
        : parseCase(text, name);
    problems.push(...read.problems);
    if (read.case !== undefined) cases.push(read.case);
  }
  return { cases: cases.toSorted(inOrder), problems };
}

function listCases(folder: string): {
  readonly names: readonly string[];
  readonly fault?: string;
} {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
    if (names.length === 0) return { names, fault: `has no case, expected files *${SUFFIX}` };
    if (names.length > MAX_CASES) return { names, fault: `has more than ${MAX_CASES} cases` };
    return { names };
  } catch (error) {
    return { names: [], fault: describeFileError(error) };
  }
}

function inOrder(one: ConformanceCase, other: ConformanceCase): number {
  const order = compareClauses(one.clauses[0], other.clauses[0]);
  return order !== 0 ? order : one.name < other.name ? -1 : 1;
}
