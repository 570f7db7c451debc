/** The files of a deployment as they are at some time, to tell later which of them have changed since. */
import { type Dirent, promises } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { isWithin } from "../base/paths.ts";
import type { Config } from "./config/config.ts";

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
/** Looks at the files of a deployment, but not at what it keeps or has installed. */
export async function markFiles({
  directory,
  handlers: { root },
}: Pick<Config, "directory" | "handlers">): Promise<FileMarks> {
  const marks = new Map<string, string>();
  const directories = isWithin(directory, root) ? [directory] : [directory, root];
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

/** The names of the files that have come, gone or changed, in order. */
export function changedFiles(before: FileMarks, now: FileMarks): readonly string[] {
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((name) => before.get(name) !== now.get(name))
    .toSorted();
}
