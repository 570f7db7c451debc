/**
 * The files of a deployment as they were when all workers had taken them in. A worker that is replaced
 * reads them as they are then: what has changed since is told, and served by all after a reload.
 */
import { type Dirent, promises } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import type { Problem } from "../../base/problem.ts";

/** By path, relative to the deployment, what tells a file from a later one. */
export type FileMarks = ReadonlyMap<string, string>;

/** The files that a deployment may be made of; what its handlers write is none of them. */
const KINDS: ReadonlySet<string> = new Set(
  ".toml .json .yaml .yml .js .mjs .cjs .ts .mts .py .pem .crt .cer .key .cedar".split(" "),
);
/** More are not looked at. */
const MAX_FILES = 50_000;
/** So many are looked at together. */
const STRIDE = 32;
/** More are only counted. */
const MAX_NAMED = 5;

/** Looks at the files of a deployment, but not at what it keeps or has installed. */
export async function markFiles(directory: string): Promise<FileMarks> {
  const marks = new Map<string, string>();
  const directories = [directory];
  for (let next = directories.pop(); next !== undefined; next = directories.pop()) {
    const entries = await promises.readdir(next, { withFileTypes: true }).catch((): Dirent[] => []);
    const paths: string[] = [];
    for (const entry of entries) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(next, entry.name);
      if (entry.isDirectory()) directories.push(path);
      else if (KINDS.has(extname(entry.name))) paths.push(path);
    }
    for (let from = 0; from < paths.length; from += STRIDE) {
      if (marks.size > MAX_FILES) return marks;
      await Promise.all(
        paths.slice(from, from + STRIDE).map(async (path) => {
          const found = await promises.stat(path).catch(() => undefined);
          if (found === undefined) return;
          const { ino, size, mtimeMs, ctimeMs } = found;
          const name = relative(directory, path).split(sep).join("/");
          marks.set(name, `${ino} ${size} ${mtimeMs} ${ctimeMs}`);
        }),
      );
    }
  }
  return marks;
}

/** The warnings about files that one worker has read as the others have not. */
export function changesOf(node: string, before: FileMarks, now: FileMarks): readonly Problem[] {
  const names = [...new Set([...before.keys(), ...now.keys()])]
    .filter((name) => before.get(name) !== now.get(name))
    .toSorted();
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).map((file, index): Problem => {
    const others = index === MAX_NAMED - 1 && more > 0 ? `, and so have ${more} more files` : "";
    return {
      ...{ file, key: "", severity: "warning" },
      message: `has changed since the last reload${others}: ${node}, which is replaced, serves it, and the others do not`,
      hint: "agtpd reload has all of them serve what the files say",
    };
  });
}
