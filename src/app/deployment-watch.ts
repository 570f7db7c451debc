/**
 * Detects changed files of a deployment: continuously for an author, and for operators when a
 * worker is replaced between two reloads.
 */
import { type Dirent, promises } from "node:fs";
import { extname, join } from "node:path";
import { pause } from "../base/back-off.ts";
import { isWithin, relativePath } from "../base/paths.ts";
import type { Problem } from "../base/problem.ts";
import type { Config } from "./config/config.ts";
import { ENV_FILE } from "./config/load.ts";

/** A mark for each path, relative to the deployment, that changes with the file. */
export type FileMarks = ReadonlyMap<string, string>;

/** The file types of a deployment; files that handlers write are of other types. */
const KINDS: ReadonlySet<string> = new Set(
  ".toml .json .yaml .yml .js .mjs .cjs .ts .mts .py .pem .crt .cer .key .cedar".split(" "),
);
/** The maximum number of files. */
const MAX_FILES = 50_000;
/** The number of files examined at once. */
const STRIDE = 32;

/** Marks the files of a deployment, except for hidden entries, such as its state, and node_modules. */
export async function markFiles({
  directory,
  handlers: { root },
}: Pick<Config, "directory" | "handlers">): Promise<FileMarks> {
  const marks = new Map<string, string>();
  const variables = join(directory, ENV_FILE);
  const directories = isWithin(directory, root) ? [directory] : [directory, root];
  for (let next = directories.pop(); next !== undefined; next = directories.pop()) {
    const entries = await promises.readdir(next, { withFileTypes: true }).catch((): Dirent[] => []);
    const paths: string[] = [];
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (path === variables) paths.push(path);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
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
          const name = relativePath(directory, path);
          marks.set(name, `${ino} ${size} ${mtimeMs} ${ctimeMs}`);
        }),
      );
    }
  }
  return marks;
}

/** Returns the names of the added, removed and changed files, sorted. */
function changedFiles(before: FileMarks, now: FileMarks): readonly string[] {
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((name) => before.get(name) !== now.get(name))
    .toSorted();
}

/** The number of files that are named; further ones are counted. */
const MAX_NAMED = 5;

/** Warns of files changed since the last reload: a replaced worker serves them, and the others do not. */
export function changesOf(node: string, before: FileMarks, now: FileMarks): readonly Problem[] {
  const names = changedFiles(before, now);
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

/** The interval between looks, which covers a save in several writes or of several files. */
const EVERY_MS = 500;

interface WatchOptions {
  /** Returns the serving deployment's configuration; a reload may move its handlers. */
  readonly config: () => Parameters<typeof markFiles>[0];
  /** Called with the changes; awaited before the next look. */
  readonly onChange: (files: readonly string[]) => Promise<unknown>;
  readonly everyMs: number | undefined;
}

/** Reports changes once two successive looks agree, so that they have stopped. Runs until it is closed. */
export class DeploymentWatch {
  readonly #options: WatchOptions;
  readonly #closed = new AbortController();

  constructor(options: WatchOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#closed.abort();
  }

  async #run(): Promise<void> {
    const { config, onChange, everyMs = EVERY_MS } = this.#options;
    let served: FileMarks = await markFiles(config());
    let last = served;
    while (await pause(everyMs, this.#closed.signal)) {
      const now = await markFiles(config());
      const isQuiet = changedFiles(last, now).length === 0;
      last = now;
      const files = isQuiet ? changedFiles(served, now) : [];
      if (files.length === 0 || this.#closed.signal.aborted) continue;
      served = now;
      await onChange(files).catch(() => undefined);
    }
  }
}
