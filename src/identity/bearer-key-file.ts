/**
 * The issuer's keys as a file. A file that is no key set, or that holds no key a token could be
 * verified with, is a problem when the configuration is read.   RFC 7517 §5
 */
import { readBoundedFile } from "../base/bounded-file.ts";
import { quoteValue } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import { type ReadKeySet, readKeySet } from "./bearer-keys.ts";
import { parseBoundedJson } from "./json-document.ts";

const MAX_FILE_BYTES = 1_048_576;

/** The file's present keys. */
export function readKeyFile(path: string): ReadKeySet {
  const { text, fault } = readBoundedFile(path, MAX_FILE_BYTES);
  if (fault !== undefined) return { fault };
  const parsed = parseBoundedJson(text);
  return parsed.fault === undefined ? readKeySet(parsed.value) : { fault: parsed.fault };
}

/** The fault of a key set file; `place` is the configuration key that names it. */
export function checkKeyFile(
  path: string,
  place: Pick<Problem, "file" | "key">,
): readonly Problem[] {
  const report = (message: string): Problem => ({
    ...place,
    message: `${quoteValue(path)}: ${message}`,
  });
  const read = readKeyFile(path);
  if (read.fault !== undefined) return [report(read.fault)];
  const problems = read.ignored.map(
    (message): Problem => ({ ...report(message), severity: "warning" }),
  );
  if (read.set.size > 0) return problems;
  return [...problems, report("must hold a public key of an accepted signature algorithm")];
}
