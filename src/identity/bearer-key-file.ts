/**
 * The issuer's keys as a file: read once, when the configuration is. A file that is no key set, or
 * that holds no key a token could be verified with, is a problem.   RFC 7517 §5
 */
import { readBoundedFile } from "../bounded-file.ts";
import { quoteValue } from "../json-value.ts";
import type { Problem } from "../problem.ts";
import { type KeySource, readKeySet } from "./bearer-keys.ts";
import { parseBoundedJson } from "./json-document.ts";

/** The keys, and what is wrong with the file. */
export interface KeyFile {
  /** Undefined when there is nothing to verify with. */
  readonly keys: KeySource | undefined;
  readonly problems: readonly Problem[];
}

const MAX_FILE_BYTES = 1_048_576;

/** Reads a key set file; `place` is the configuration key that names it. */
export function loadKeyFile(path: string, place: Pick<Problem, "file" | "key">): KeyFile {
  const report = (message: string): Problem => ({
    ...place,
    message: `${quoteValue(path)}: ${message}`,
  });
  const { text, fault } = readBoundedFile(path, MAX_FILE_BYTES);
  if (fault !== undefined) return { keys: undefined, problems: [report(fault)] };
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) return { keys: undefined, problems: [report(parsed.fault)] };
  const read = readKeySet(parsed.value);
  if (read.fault !== undefined) return { keys: undefined, problems: [report(read.fault)] };
  const { set, ignored } = read;
  const problems = ignored.map(
    (message): Problem => ({
      ...report(message),
      severity: "warning",
    }),
  );
  if (set.size > 0) return { keys: createFixedKeys(set), problems };
  const nothing = report("must hold a public key of an accepted signature algorithm");
  return { keys: undefined, problems: [...problems, nothing] };
}

function createFixedKeys(set: Awaited<ReturnType<KeySource["keysFor"]>>): KeySource {
  return {
    generation: 0,
    keysFor: () => Promise.resolve(set),
    close: () => Promise.resolve(),
  };
}
