/**
 * Plans and writes the changes of `--fix`: each removed method is replaced by its successor, and
 * nothing else changes. Edits are ranges of the original text, so the rest of a file stays
 * untouched.
 */

import {
  accessSync,
  chmodSync,
  constants,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from "node:fs";
import { resolve } from "node:path";
import { isWithin } from "../../base/paths.ts";
import { reasonOf } from "../../base/thrown.ts";
import { parseToml } from "../../base/toml-document.ts";
import { placeFile } from "../shell/write-files.ts";
import type { CatalogStep, Conflict } from "./conflict.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import { type FixableConflict, FixRules } from "./fix-rules.ts";
import type { Scan } from "./scan.ts";

interface Edit {
  readonly conflict: FixableConflict;
  readonly line: number;
  /** The range of characters in the file. */
  readonly range: readonly [start: number, end: number];
  readonly replacement: string;
}

interface FileFix {
  readonly source: DeploymentText;
  readonly edits: readonly Edit[];
  readonly after: string;
}

interface RefusedFix {
  readonly conflict: Conflict;
  readonly reason: string;
}

/** The fixes that would be written, and those that are refused. */
export interface FixPlan {
  readonly fixes: readonly FileFix[];
  readonly refused: readonly RefusedFix[];
}

/** Plans the fixes of a deployment; writes nothing. */
export function planFixes(scan: Scan, step: CatalogStep): FixPlan {
  const rules = new FixRules(scan, step);
  const edits: Edit[] = [];
  const refused: RefusedFix[] = [];
  // Endpoints come first, because fixes of steps and policies depend on theirs.
  const rank = ({ reference: { role } }: Conflict): number => Number(role !== "endpoint");
  for (const conflict of scan.conflicts.toSorted((one, other) => rank(one) - rank(other))) {
    const edit = planEdit(conflict, scan, rules);
    if (typeof edit === "string") refused.push({ conflict, reason: edit });
    else edits.push(edit);
  }
  const sources = new Set(edits.map(({ conflict }) => conflict.reference.source));
  const fixes = [...sources].map((source) =>
    toFix(
      source,
      edits.filter(({ conflict }) => conflict.reference.source === source),
    ),
  );
  return { fixes, refused };
}

function planEdit(conflict: Conflict, scan: Scan, rules: FixRules): Edit | string {
  const { successor, reference } = conflict;
  if (successor === undefined) return conflict.remedy;
  if (!reference.isWritten) return "it comes out of the environment";
  const fixable = { ...conflict, successor };
  const reason = rules.check(fixable);
  if (reason !== undefined) return reason;
  const { line = 0, range } = scan.placeOf(reference) ?? {};
  const written = range && reference.source.text.slice(...range);
  // Rare spellings, with an escape or a line break inside the quotes, are left to the author.
  const [, quote = ""] = /^("""|'''|"|')/.exec(written ?? "") ?? [];
  if (range === undefined || written !== quote + reference.value + quote) {
    return "it is not written on one line as it is read, so it is left to a person";
  }
  return { conflict: fixable, line, range, replacement: quote + successor + quote };
}

function toFix(source: DeploymentText, edits: readonly Edit[]): FileFix {
  const ordered = edits.toSorted((one, other) => one.range[0] - other.range[0]);
  let after = "";
  let end = 0;
  for (const { range, replacement } of ordered) {
    after += source.text.slice(end, range[0]) + replacement;
    end = range[1];
  }
  after += source.text.slice(end);
  if (parseToml(after).fault !== undefined) throw new Error(`a fix of ${source.file} is no TOML`);
  return { source, edits: ordered, after };
}

interface Replacement {
  /** The deployment directory, absolute. */
  readonly directory: string;
  /** The path relative to it. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** The size limit of a deployment's file, plus a byte order mark. */
const MAX_BYTES = 1_048_579;
const CHANGED = "changed while it was looked at";

/** Writes the file; returns the reason if it could not be written. */
export function replaceText({ directory, file, before, after }: Replacement): string | undefined {
  try {
    const root = realpathSync(directory);
    const path = realpathSync(resolve(directory, file));
    if (!isWithin(root, path)) return "lies outside of the deployment directory";
    accessSync(path, constants.W_OK);
    const status = statSync(path);
    if (!status.isFile() || status.size > MAX_BYTES) return CHANGED;
    const bytes = readFileSync(path);
    const hasMark = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    const mark = hasMark ? BYTE_ORDER_MARK : Buffer.alloc(0);
    if (!bytes.equals(Buffer.concat([mark, Buffer.from(before)]))) return CHANGED;
    let fault: string | undefined;
    placeFile(path, Buffer.concat([mark, Buffer.from(after)]), 0o600, (complete) => {
      chmodSync(complete, status.mode & 0o7777);
      if (realpathSync(path) === path) renameSync(complete, path);
      else fault = CHANGED;
    });
    return fault;
  } catch (error) {
    return `cannot be written: ${reasonOf(error)}`;
  }
}
