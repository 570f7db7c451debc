import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startDaemon } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem } from "../../src/base/problem.ts";
import { findForeignLink, findLinkFaults } from "../../src/base/state-files.ts";
import { createDaemon, openDaemon } from "../support/daemon.ts";
import { configFile, makeDeployment } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { PATIENCE } from "../support/patience.ts";

const sink = { write: () => undefined, flush: () => Promise.resolve() };

/** The problems for which a deployment is not started. */
async function refusalOf(configPath: string): Promise<readonly string[]> {
  const log = createLog("silent", sink);
  const started = await startDaemon({ configPath, port: 0, env: {}, log });
  if (started.kind === "refused") return started.problems.map(formatProblem);
  await started.daemon.drain();
  return [];
}

describe("a state directory", () => {
  it.each([
    ["another database", { store: { path: "other.db" } }],
    ["no database at all", { store: { driver: "memory" } }],
  ])("has one daemon, though the second has %s", async (_, tables) => {
    const { directory } = await openDaemon();
    const configPath = join(directory, "second.toml");
    writeFileSync(configPath, configFile(tables));
    expect(await refusalOf(configPath)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^\\.agtp: is in use by agtpd, process ${process.pid} on .+, since 20.+ \\(a deployment`,
        ),
      ),
    ]);
  });

  it("is not touched by a daemon that may not have it", async () => {
    const cert = { tls: {} };
    const { directory } = await openDaemon({
      "agtp-server.toml": configFile({ store: { driver: "memory" }, ...cert }),
    });
    // The last that a start writes, behind the ready line.
    await vi.waitFor(() => readFileSync(join(directory, ".agtp/manifest.json")), PATIENCE);
    const before = readdirSync(join(directory, ".agtp")).toSorted();
    expect(await refusalOf(join(directory, "agtp-server.toml"))).toHaveLength(1);
    expect(readdirSync(join(directory, ".agtp")).toSorted()).toEqual(before);
  });

  it("is let go by a daemon that is refused for something else, and by one that stops", async () => {
    const deployment = makeDeployment({
      "agtp-server.toml": configFile({ store: { path: "notes.db" } }),
      "notes.db": "No database, however long it is. ".repeat(200),
    });
    for (let start = 1; start <= 2; start += 1) {
      expect(await refusalOf(deployment.configPath)).toEqual([
        expect.stringContaining("store.path"),
      ]);
    }
    writeFileSync(deployment.configPath, configFile());
    for (let start = 1; start <= 2; start += 1) {
      await (await createDaemon(deployment)).close();
      expect(existsSync(join(deployment.directory, ".agtp/lock.json"))).toBe(false);
    }
  });

  it.each(["journal", "journal/00000001.jws", "state.db", "lock", "tls"])(
    "is not served where %s is a link that leads out of it",
    async (name) => {
      const { configPath, directory } = makeDeployment();
      const outside = makeDirectory({ file: "somebody's\n" });
      const path = join(directory, ".agtp", name);
      mkdirSync(join(path, ".."), { recursive: true });
      rmSync(path, { recursive: true, force: true });
      symlinkSync(name.includes(".") || name === "lock" ? join(outside, "file") : outside, path);
      expect(await refusalOf(configPath)).toEqual([
        expect.stringContaining(
          `.agtp/${name}: is a symbolic link that leads out of the state directory`,
        ),
      ]);
      expect(readdirSync(outside)).toEqual(["file"]);
    },
  );

  // Only root can act as a user who may not look.
  it.runIf(process.getuid?.() === 0)("names a part that its user may not look into", async () => {
    const { configPath, directory } = makeDeployment();
    for (const path of [directory, join(directory, ".agtp")]) chmodSync(path, 0o755);
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
    expect(await refusalOf(configPath)).toEqual([
      ".agtp/tls: must be readable, permission denied (it is for the user that agtpd runs as: chown it, or start agtpd as its owner)",
    ]);
  });
});

describe("findLinkFaults", () => {
  const made = () => {
    const outside = makeDirectory({ secret: "" });
    const directory = makeDirectory({ "real/file": "" });
    return { directory, outside };
  };

  it("lets links be that stay inside, and secrets be mounted where they are only read", () => {
    const { directory, outside } = made();
    symlinkSync("real", join(directory, "journal"));
    mkdirSync(join(directory, "keys"));
    symlinkSync(join(outside, "secret"), join(directory, "keys/signing.pem"));
    expect(findLinkFaults(directory, ["keys"])).toEqual([]);
    expect(findLinkFaults(directory, [])).toHaveLength(1);
  });

  it("lets the whole directory be a link, and knows nothing of one that is not there", () => {
    const { directory, outside } = made();
    symlinkSync(directory, join(outside, "state"));
    expect(findLinkFaults(join(outside, "state"), [])).toEqual([]);
    expect(findLinkFaults(join(outside, "none"), [])).toEqual([]);
  });

  // Only root can make a file somebody else's.
  it.runIf(process.getuid?.() === 0)(
    "names a link that another user planted, wherever it leads",
    () => {
      const { directory } = made();
      const path = join(directory, "state.db");
      symlinkSync("real/file", path);
      chownSync(join(directory, "real/file"), 1234, 1234);
      expect(findLinkFaults(directory, [])).toEqual([]);
      lchownSync(path, 1234, 1234);
      const message = "is a symbolic link that another user made (uid 1234)";
      expect(findLinkFaults(directory, [])).toEqual([{ path, message }]);
      expect(findForeignLink(path)).toEqual({ path, message });
    },
  );
});
