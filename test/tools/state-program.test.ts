/** `agtpd state`: beside a daemon that is asked, without one, and what becomes of older copies. */

import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { launch, runCommand, runProgram, startProgram } from "../support/agtpd.ts";
import { createDaemon, type RawClient } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { readJournal, recordOf, walkChain } from "../support/records.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import type { ProgramRun } from "../support/terminal.ts";

const HANDLERS = "export const echo = ({ input }) => ({ body: input });";
const FILES = hostedFiles(
  { lifecycle_auth: "open", inspect_acl: "public" },
  {},
  { "handlers.mjs": HANDLERS },
);

const probe = mountSmallDisk(1);
probe?.remove();
if (probe === undefined) {
  console.warn("\nNOT RUN, no file system can be mounted here: a full disk under agtpd state\n");
}

function state(configPath: string, ...args: readonly string[]): Promise<ProgramRun> {
  return runCommand(["state", ...args, "--config", configPath], dirname(configPath));
}

/** Asks so many times, one after another; the Audit-IDs that were answered. */
async function ask(client: RawClient, count: number): Promise<readonly string[]> {
  const request = { method: "QUERY", path: "/lists", headers: { "Agent-ID": ALICE }, body: {} };
  for (let more = 0; more < count; more += 1) client.write(encodeRequest(request));
  return (await client.replies(count)).map((reply) => recordOf(reply).auditId);
}

/** A deployment that has answered, and was stopped. */
async function makeUsed(count: number) {
  const deployment = makeDeployment(FILES);
  const ids = await use(deployment.configPath, count);
  return { ...deployment, ids };
}

async function use(configPath: string, count: number): Promise<readonly string[]> {
  const daemon = await createDaemon({ configPath, directory: dirname(configPath) });
  try {
    return await ask(await daemon.connect(), count);
  } finally {
    await daemon.close();
  }
}

function chainIn(directory: string): readonly string[] {
  return walkChain(readJournal(join(directory, ".agtp/journal")), ALICE).map(
    ({ auditId }) => auditId,
  );
}

describe("agtpd state", () => {
  it("could not be asked where the file cannot be read or written", async () => {
    const { directory, configPath } = makeDeployment(FILES);
    const nowhere = join(directory, "nowhere", "state.ndjson");
    for (const [command, file] of [
      ["import", nowhere],
      ["import", directory],
      ["import", join(configPath, "state.ndjson")],
      ["import", join(directory, "x".repeat(300))],
      ["export", nowhere],
    ] as const) {
      const { exitCode, err } = await state(configPath, command, file);
      expect([command, file, exitCode]).toEqual([command, file, 2]);
      expect(err).toMatch(/^agtpd state: cannot (read|write) \//);
    }
    expect(await state(configPath, "export", configPath)).toMatchObject({ exitCode: 1 });
  });

  it.skipIf(probe === undefined)(
    "could not be asked where a disk is full, and leaves nothing there",
    async () => {
      const { configPath } = await makeUsed(2);
      const file = join(makeDirectory(), "state.ndjson");
      await state(configPath, "export", file);
      const disk = mountSmallDisk(1);
      if (disk === undefined) throw new Error("a file system could be mounted a moment ago");
      onTestFinished(() => disk.remove());
      disk.fill();
      const exported = await state(configPath, "export", join(disk.directory, "state.ndjson"));
      expect([exported.exitCode, exported.out]).toEqual([2, ""]);
      expect(exported.err).toMatch(/^agtpd state: cannot write \/.*ENOSPC/);
      const path = join(disk.directory, "state.db");
      const other = makeDeployment(hostedFiles({}, { store: { driver: "sqlite", path } }));
      const imported = await state(other.configPath, "import", file);
      expect(imported.exitCode).toBeGreaterThan(0);
      expect(imported.err).toMatch(/^agtpd state: .*\n$/);
      expect(readdirSync(disk.directory)).toEqual([]);
    },
  );

  it("moves what a running daemon keeps into another deployment, where chains go on", async () => {
    const { configPath } = makeDeployment(FILES);
    const daemon = await startProgram(configPath);
    const before = await ask(await daemon.connect(), 20);
    const asking = ask(await daemon.connect(), 500);
    const file = join(makeDirectory(), "state.ndjson");
    const args = ["state", "export", file, "--config", configPath];
    const outcome = await runProgram({ args });
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(/^\d+ entries, \d+ records in 1 chain in /);
    const after = await asking;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await state(configPath, "import", file)).toMatchObject({ exitCode: 1 });
    daemon.child.kill("SIGTERM");
    await daemon.outcome;

    const other = makeDeployment(FILES);
    expect(await state(other.configPath, "import", file)).toMatchObject({ exitCode: 0, err: "" });
    const imported = chainIn(other.directory);
    expect(imported.slice(0, 20)).toEqual(before);
    expect([...before, ...after].slice(0, imported.length)).toEqual(imported);
    const more = await use(other.configPath, 3);
    expect(chainIn(other.directory)).toEqual([...imported, ...more]);
  });

  it("exports without a daemon, also behind one that was killed", async () => {
    const { configPath } = makeDeployment(FILES);
    const daemon = await startProgram(configPath);
    const ids = await ask(await daemon.connect(), 5);
    daemon.child.kill("SIGKILL");
    await daemon.outcome;
    const file = join(makeDirectory(), "state.ndjson");
    expect(await state(configPath, "export", file, "--json")).toMatchObject({ exitCode: 0 });
    const other = makeDeployment(FILES);
    expect((await state(other.configPath, "import", file)).exitCode).toBe(0);
    expect(chainIn(other.directory)).toEqual(ids);
  });

  it("writes over nothing, and sets aside what it replaces", async () => {
    const { configPath, directory, ids } = await makeUsed(2);
    const file = join(makeDirectory(), "state.ndjson");
    await state(configPath, "export", file);
    const again = await state(configPath, "export", file);
    expect(again).toMatchObject({ exitCode: 1 });
    expect(again.err).toContain("it is there already");
    await use(configPath, 3);
    const refused = await state(configPath, "import", file);
    expect(refused.err).toContain("--replace");
    const unread = await state(configPath, "import", `${file}.none`);
    expect(unread).toMatchObject({ exitCode: 2 });
    expect(unread.err).toContain("cannot read");
    expect((await state(configPath, "import", file, "--replace")).exitCode).toBe(0);
    expect(chainIn(directory)).toEqual(ids);
    const aside = readdirSync(join(directory, ".agtp")).filter((name) => /replaced-/.test(name));
    expect(aside.map((name) => name.replace(/\.replaced-.*/, ""))).toEqual(["journal", "state.db"]);
    const old = walkChain(readJournal(join(directory, ".agtp", aside[0] ?? "")), ALICE);
    expect(old).toHaveLength(5);
  });

  it("writes one of two exports that are made at once under one name, whole", async () => {
    const { configPath, ids } = await makeUsed(200);
    const directory = makeDirectory();
    const file = join(directory, "state.ndjson");
    const both = await Promise.all([file, file].map((one) => state(configPath, "export", one)));
    expect(both.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 1]);
    expect(readdirSync(directory)).toEqual(["state.ndjson"]);
    const other = makeDeployment(FILES);
    expect((await state(other.configPath, "import", file)).exitCode).toBe(0);
    expect(chainIn(other.directory)).toEqual(ids);
  });

  it("leaves no part of an export that is interrupted", async () => {
    const { configPath } = await makeUsed(1);
    const directory = makeDirectory();
    const daemon = await startProgram(configPath);
    // A daemon that stands still keeps the export waiting.
    daemon.child.kill("SIGSTOP");
    const file = join(directory, "state.ndjson");
    const child = launch({ args: ["state", "export", file, "--config", configPath] });
    const ended = once(child, "exit");
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1), PATIENCE);
    child.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(readdirSync(directory)).toEqual([]);
    daemon.child.kill("SIGKILL");
    await daemon.outcome;
  });

  it("lets nothing begin anew where an import was killed before it took its place", async () => {
    const { configPath, directory, ids } = await makeUsed(2);
    const file = join(makeDirectory(), "state.ndjson");
    await state(configPath, "export", file);
    const store = join(directory, ".agtp/state.db");
    renameSync(store, `${store}.replaced-then`);
    cpSync(`${store}.replaced-then`, `${store}.importing`);
    await expect(use(configPath, 1)).rejects.toThrow("an import was cut off");
    expect((await state(configPath, "export", `${file}.more`)).err).toContain("run agtpd state");
    expect(existsSync(store)).toBe(false);
    expect((await state(configPath, "import", file, "--replace")).exitCode).toBe(0);
    await use(configPath, 1);
    expect(chainIn(directory).slice(0, 2)).toEqual(ids);
  });

  it("leaves what is there where it cannot all be set aside", async () => {
    const { configPath, directory, ids } = await makeUsed(2);
    const file = join(makeDirectory(), "state.ndjson");
    await state(configPath, "export", file);
    const more = await use(configPath, 3);
    const now = new Date();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const name = `journal.replaced-${now.toISOString().replaceAll(":", "")}`;
    const taken = join(directory, ".agtp", name, "another");
    mkdirSync(taken, { recursive: true });
    const outcome = await state(configPath, "import", file, "--replace");
    vi.useRealTimers();
    expect(outcome).toMatchObject({ exitCode: 1, out: "" });
    expect(outcome.err).toContain("what was there is as it was");
    expect(chainIn(directory)).toEqual([...ids, ...more]);
    const names = readdirSync(join(directory, ".agtp"));
    expect(names.filter((one) => /import|replaced/.test(one))).toEqual([name]);
    const last = await use(configPath, 1);
    expect(chainIn(directory)).toEqual([...ids, ...more, ...last]);
  });

  it("changes nothing for a file that does not hold, and says where", async () => {
    const { configPath, directory, ids } = await makeUsed(3);
    const file = join(makeDirectory(), "state.ndjson");
    await state(configPath, "export", file);
    const lines = readFileSync(file, "utf8").split("\n");
    const at = lines.findIndex((line) => line.startsWith('{"record"'));
    const bad = `${file}.bad`;
    writeFileSync(bad, lines.toSpliced(at, 1).join("\n"));
    const outcome = await state(configPath, "import", bad, "--replace");
    expect(outcome).toMatchObject({ exitCode: 1, out: "" });
    expect(outcome.err).toContain(`line ${lines.length - 2} does not add up`);
    expect(chainIn(directory)).toEqual(ids);
    const names = readdirSync(join(directory, ".agtp"));
    expect(names.filter((name) => /import|replaced/.test(name))).toEqual([]);
    const elsewhere = makeDeployment({
      ...FILES,
      "agtp-server.toml": String(readFileSync(configPath)).replace(
        /server_id = "[^"]*"/,
        'server_id = "other.example"',
      ),
    });
    expect((await state(elsewhere.configPath, "import", file)).err).toContain("is of server");
  });
});

describe("a copy of the state directory", () => {
  it("whose store is older than its journal is brought up to date at the start", async () => {
    const { configPath, directory, ids } = await makeUsed(3);
    const copy = join(makeDirectory(), "state.db");
    cpSync(join(directory, ".agtp/state.db"), copy);
    const more = await use(configPath, 4);
    cpSync(copy, join(directory, ".agtp/state.db"));
    const last = await use(configPath, 1);
    expect(chainIn(directory)).toEqual([...ids, ...more, ...last]);
  });

  it("whose journal is older than its store stops the start, until the loss is accepted", async () => {
    const { configPath, directory } = await makeUsed(3);
    const copy = join(makeDirectory(), "journal");
    cpSync(join(directory, ".agtp/journal"), copy, { recursive: true });
    const lost = await use(configPath, 2);
    rmSync(join(directory, ".agtp/journal"), { recursive: true });
    cpSync(copy, join(directory, ".agtp/journal"), { recursive: true });
    const refused = await runProgram({ args: ["--config", configPath, "--port", "0"] });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(lost.at(-1));
    expect(refused.stderr).toContain("agtp-keys repair");
    const exported = await state(configPath, "export", join(makeDirectory(), "state.ndjson"));
    expect(exported).toMatchObject({ exitCode: 1 });
    expect(exported.err).toContain(lost.at(-1));
  });
});
