import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Database from "libsql";
import { describe, expect, it, onTestFinished } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { openStore } from "../../src/state/open-store.ts";
import { makeDirectory } from "../support/directory.ts";
import { openTestStore } from "../support/store.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** What is wrong, as it is printed; the path of the test is left out. */
async function refusalOf(path: string, driver: "sqlite" | "postgres" = "sqlite"): Promise<string> {
  const { store, problems } = await openStore({ driver, path }, "agtp-server.toml");
  await store?.close();
  return (problems ?? []).map(formatProblem).join("\n").replaceAll(path, "PATH");
}

/** A database with entries in it, closed in good order. */
async function makeDatabase(path: string): Promise<void> {
  const store = await openTestStore("sqlite", path);
  const put = (key: string) =>
    ({ kind: "put", collection: "c", key, value: "x".repeat(500) }) as const;
  await store.commit(Array.from({ length: 100 }, (_, index) => put(`k${index}`)));
  await store.close();
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const content = readFileSync(path);
  bytes.copy(content, at);
  writeFileSync(path, content);
}

/** Permissions do not bind the superuser. */
async function withoutPrivileges<T>(act: () => Promise<T>): Promise<T> {
  const isSuperuser = process.geteuid?.() === 0;
  if (isSuperuser) process.seteuid?.(65_534);
  try {
    return await act();
  } finally {
    if (isSuperuser) process.seteuid?.(0);
  }
}

describe("openStore", () => {
  it("makes the file and its directories, for their owner alone", async () => {
    const directory = makeDirectory();
    const path = join(directory, "a", "b", "state.db");
    const store = await openTestStore("sqlite", path);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(modeOf(join(directory, "a"))).toBe(0o700);
    expect(modeOf(join(directory, "a", "b"))).toBe(0o700);
    const files = readdirSync(join(directory, "a", "b"));
    expect(files).toEqual(["state.db", "state.db-wal"]);
    for (const file of files) expect(modeOf(join(directory, "a", "b", file)), file).toBe(0o600);
  });

  it("takes rights away from a file that others could read", async () => {
    const path = join(makeDirectory(), "state.db");
    await makeDatabase(path);
    chmodSync(path, 0o644);
    writeFileSync(`${path}-wal`, "", { mode: 0o644 });
    const store = await openTestStore("sqlite", path);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(modeOf(path)).toBe(0o600);
    expect(modeOf(`${path}-wal`)).toBe(0o600);
  });

  it("keeps nothing on the disk with the memory driver", async () => {
    const directory = makeDirectory();
    const path = join(directory, "state.db");
    await openTestStore("memory", path);
    expect(existsSync(path)).toBe(false);
  });

  it("takes a path that looks like a URL, or like no file at all, for a path", async () => {
    const directory = makeDirectory();
    for (const name of ["file:x.db?mode=memory", ":memory:", "ü %41#.db"]) {
      await openTestStore("sqlite", join(directory, name));
      expect(existsSync(join(directory, name)), name).toBe(true);
    }
  });

  it("wants a URL for postgres", async () => {
    expect(await refusalOf("state.db", "postgres")).toBe(
      'agtp-server.toml: store.url: is missing (expected a URL like "postgres://agtpd@db.example/agtpd")',
    );
  });

  it("refuses a file that is in use, at once, and leaves its user in peace", async () => {
    const path = join(makeDirectory(), "state.db");
    const store = await openTestStore("sqlite", path);
    const refused = 'agtp-server.toml: store.path: "PATH" is in use by another daemon';
    expect(await refusalOf(path)).toBe(refused);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(await store.get("c", "k")).toBe(1);
    expect(await refusalOf(path)).toBe(refused);
  });
});

describe("a file that is no store", () => {
  const path = (): string => join(makeDirectory(), "state.db");
  const refused = (message: string): string => `agtp-server.toml: store.path: "PATH" ${message}`;

  it.each([
    ["text", "not a database at all, but text. ".repeat(100)],
    ["a few bytes", "xy"],
    ["zeros and more", Buffer.alloc(8192, 0xff)],
  ])("is refused: %s", async (_, content) => {
    const file = path();
    writeFileSync(file, content);
    expect(await refusalOf(file)).toBe(refused("is not a database"));
    expect(readFileSync(file)).toEqual(Buffer.from(content));
  });

  it("is refused: a database that was cut off", async () => {
    const file = path();
    await makeDatabase(file);
    for (const size of [20_000, 8192, 5000]) {
      truncateSync(file, size);
      expect(await refusalOf(file), `${size}`).toMatch(
        /^agtp-server.toml: store.path: "PATH" is damaged: /,
      );
    }
  });

  it("is refused: a database that was overwritten inside", async () => {
    const file = path();
    await makeDatabase(file);
    overwrite(file, 4096 * 3, Buffer.alloc(200, 0xaa));
    expect(await refusalOf(file)).toMatch(/^agtp-server.toml: store.path: "PATH" is damaged: /);
  });

  it("is refused: a directory", async () => {
    const file = path();
    mkdirSync(file);
    expect(await refusalOf(file)).toBe(refused("must be a file, is a directory"));
  });

  it("is refused: a pipe", async () => {
    const file = path();
    execFileSync("mkfifo", [file]);
    expect(await refusalOf(file)).toBe(refused("must be a regular file"));
  });

  it("is refused: a link that leads nowhere", async () => {
    const file = path();
    symlinkSync(join(dirname(file), "elsewhere.db"), file);
    expect(await refusalOf(file)).toBe(refused("is a symbolic link that leads nowhere"));
    expect(existsSync(join(dirname(file), "elsewhere.db"))).toBe(false);
  });

  it("is refused: a path through a file", async () => {
    const directory = makeDirectory({ "a.txt": "" });
    for (const file of [
      join(directory, "a.txt", "state.db"),
      join(directory, "a.txt", "b", "state.db"),
    ]) {
      const parent = dirname(file);
      expect(await refusalOf(file)).toBe(
        refused(`cannot be made, its directory "${parent}" cannot be: a file is in the way`),
      );
    }
  });

  it.each(["file", "directory"])("is refused: without permission for the %s", async (what) => {
    const file = path();
    const directory = dirname(file);
    chmodSync(directory, 0o755);
    if (what === "file") writeFileSync(file, "", { mode: 0o444 });
    else chmodSync(directory, 0o555);
    expect(await withoutPrivileges(() => refusalOf(file))).toMatch(
      what === "file"
        ? /^agtp-server.toml: store.path: "PATH" must be readable and writable, permission denied$/
        : /^agtp-server.toml: store.path: "PATH" cannot be made: permission denied$/,
    );
  });

  it("is refused: a path that no system has", async () => {
    expect(await refusalOf("/a\0b/state.db")).toMatch(/store.path: .*cannot be made/);
  });

  it("is refused: the database of another program", async () => {
    const file = path();
    const other = new Database(file);
    other.exec(
      "CREATE TABLE meta (name TEXT, value TEXT); INSERT INTO meta VALUES ('schema_version', '1')",
    );
    other.close();
    expect(await refusalOf(file)).toBe(refused("is the database of another program"));
  });
});

function mounts(): boolean {
  const probe = mkdtempSync(join(tmpdir(), "agtpd-mount-"));
  const isMounted =
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", probe]).status === 0;
  if (isMounted) spawnSync("umount", [probe]);
  rmdirSync(probe);
  return isMounted;
}

// Only the superuser of a machine that lets it may try.
describe.skipIf(!mounts())("a file system of its own", () => {
  function mount(size: string): string {
    const directory = makeDirectory();
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", directory]);
    onTestFinished(() => void spawnSync("umount", ["-l", directory]));
    return directory;
  }

  it("is refused where it is read-only, with the file there and without", async () => {
    const directory = mount("1m");
    const made = join(makeDirectory(), "state.db");
    await makeDatabase(made);
    // A connection that is closed may have its file open for a while.
    copyFileSync(made, join(directory, "state.db"));
    execFileSync("mount", ["-o", "remount,ro", directory]);
    expect(await refusalOf(join(directory, "state.db"))).toBe(
      'agtp-server.toml: store.path: "PATH" must be writable, the file system is read-only',
    );
    expect(await refusalOf(join(directory, "other.db"))).toBe(
      'agtp-server.toml: store.path: "PATH" cannot be made: the file system is read-only',
    );
  });

  it("is refused where it is full", async () => {
    const directory = mount("64k");
    writeFileSync(join(directory, "filler"), Buffer.alloc(60 * 1024));
    expect(await refusalOf(join(directory, "state.db"))).toMatch(
      /^agtp-server.toml: store.path: "PATH" cannot be (written|opened|made)/,
    );
  });
});
