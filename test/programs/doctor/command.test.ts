import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../../src/base/version.ts";
import {
  type Check,
  loadSubject,
  type Observation,
  type Subject,
} from "../../../src/programs/doctor/check.ts";
import { CHECKS, runChecks } from "../../../src/programs/doctor/command.ts";
import { thisMachine } from "../../../src/programs/doctor/machine.ts";
import { endpoint, onNetwork, withCertificate } from "../../doctor/cases/case.ts";
import { configFile, makeDeployment } from "../../support/deployment.ts";
import { makePatient } from "../../support/doctor.ts";
import { ROOT } from "../../support/source-tree.ts";

/** Every file, with what writing to it would change. */
function look(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const { mode, size, mtimeMs, ctimeMs, ino } = lstatSync(join(directory, name));
      return [name, mode, size, mtimeMs, ctimeMs, ino].join(" ");
    })
    .toSorted();
}

describe("agtpd doctor", () => {
  it("says each finding with its remedy, and how many there were", async () => {
    const tables = { store: { driver: "memory" }, signing: {} };
    const { exitCode, out, err } = await makePatient({ tables }).read();
    expect([exitCode, err]).toEqual([1, ""]);
    expect(out).toContain('warning  agtp-server.toml: store.driver: is "memory"');
    expect(out).toMatch(/-> set it to "sqlite" {2}\[store\]/);
    expect(out).toMatch(/agtp-server\.toml: \d+ checks, 2 warnings\n$/);
  });

  it("says so when there is nothing", async () => {
    const { exitCode, out } = await makePatient().read();
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^agtp-server\.toml: \d+ checks, nothing found\n$/);
  });

  it("lists the most serious first, and every question that was asked, as JSON", async () => {
    const { json, findings } = await makePatient({
      tables: { signing: {}, openwop: { conformance: true } },
      machine: { nodeVersion: "v25.0.0" },
    }).examine();
    expect(findings.map(({ severity }) => severity)).toEqual(["error", "warning", "note"]);
    expect(json).toMatchObject({
      ok: false,
      config: "agtp-server.toml",
      summary: { errors: 1, warnings: 1, notes: 1, unasked: 0 },
      checks: expect.arrayContaining([{ id: "journal", asks: expect.any(String) }]),
    });
    const [first] = findings;
    expect(Object.keys(first ?? {})).toEqual([
      ...["id", "severity", "file", "key", "message", "remedy"],
    ]);
  });

  it("takes notes for nothing serious", async () => {
    const { exitCode, json } = await makePatient({ machine: { nodeVersion: "v25.0.0" } }).examine();
    expect([exitCode, json["ok"]]).toEqual([0, true]);
  });

  it("writes nothing, and makes nothing", async () => {
    const patient = makePatient({ files: endpoint() });
    const before = look(patient.directory);
    await patient.examine();
    await patient.read();
    expect(look(patient.directory)).toEqual(before);
  });

  it("looks at the host that a daemon is told on its command line", async () => {
    const { server: _, ...policies } = onNetwork();
    const site = await withCertificate(300, { tables: policies });
    const ids = async (args: readonly string[]): Promise<readonly string[]> =>
      (await makePatient({ ...site, args }).examine()).findings.map(({ id }) => id);
    expect(await ids([])).not.toContain("anonymous-discovery");
    expect(await ids(["--host", "0.0.0.0"])).toContain("anonymous-discovery");
  });

  it.each([
    ["a configuration that is absent", { args: ["--config", "no.toml"] }, "does not exist"],
    ["a configuration that is no TOML", { files: { "agtp-server.toml": "[[" } }, "is not TOML"],
    ["a key that is unknown", { tables: { servre: {} } }, "servre"],
    ["a signing key that is missing", { tables: { signing: { key: "no.pem" } } }, "signing.key"],
    ["a catalog that is none", { files: { "catalog/methods.json": "{}" } }, "catalog/methods.json"],
  ])("exits 2 for %s, and says what is wrong", async (_, site, words) => {
    const patient = makePatient(site);
    const { exitCode, out, err } = await patient.read();
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain(words);
    expect(err).toMatch(/\nagtpd doctor: nothing else was looked at\n$/);
    const { json } = await patient.examine();
    expect(json).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.anything()]),
    });
  });

  it.each([
    [["--help"], 0],
    [["--version"], 0],
    [["--unknown"], 2],
    [["surplus"], 2],
  ])("answers %s with %d", async (args, code) => {
    const { exitCode, out } = await makePatient({ args }).read();
    expect(exitCode).toBe(code);
    if (args[0] === "--version") expect(out).toBe(`${VERSION}\n`);
  });

  it("does not let a file's name forge lines of its report", async () => {
    const name = "endpoints/a\nerror    forged\u001b[2K.toml";
    const { out } = await makePatient({ files: { [name]: "[[" } }).read();
    expect(out).not.toMatch(/^error {4}forged/m);
    expect(out).not.toContain("\u001b");
  });
});

function makeSubject(): Subject {
  const { configPath } = makeDeployment({ "agtp-server.toml": configFile() });
  const { subject } = loadSubject({
    ...{ configPath, overrides: {}, environment: {}, machine: thisMachine() },
  });
  if (subject === undefined) throw new Error("the deployment must load");
  return subject;
}

function observation(severity: Observation["severity"], message = "is so"): Observation {
  return { severity, file: "a", key: "", message, hint: "do so" };
}

function check(id: string, look: Check["look"]): Check {
  return { id, asks: "is it?", look };
}

describe("runChecks", () => {
  it("keeps the other questions when one cannot be asked", () => {
    const checks = [
      check("broken", () => {
        throw new Error("EACCES: permission denied");
      }),
      check("whole", () => [observation("note")]),
    ];
    const { findings, unasked, asked } = runChecks(makeSubject(), checks);
    expect(findings).toEqual([{ rule: "whole", ...observation("note") }]);
    expect(unasked).toEqual([{ id: "broken", reason: "EACCES: permission denied" }]);
    expect(asked).toBe(checks);
  });

  it("lists fifty findings of a check, the worst of them, and counts the others", () => {
    const notes = Array.from({ length: 70 }, (_, index) => observation("note", `is ${index}`));
    const checks = [check("many", () => [...notes, observation("error")])];
    const { findings } = runChecks(makeSubject(), checks);
    expect(findings).toHaveLength(51);
    expect(findings[0]?.severity).toBe("error");
    expect(findings.at(-1)?.message).toBe("21 more findings of this kind are not listed");
  });
});

describe("agtpd doctor, where something cannot be read", () => {
  const machine = {
    space: () => {
      throw new Error("EIO: i/o error, statfs");
    },
  };

  it("exits 2 when nothing else was found", async () => {
    const patient = makePatient({ machine });
    const { exitCode, unasked, json } = await patient.examine();
    expect([exitCode, json["ok"]]).toEqual([2, false]);
    expect(unasked).toEqual([{ id: "disk-space", reason: "EIO: i/o error, statfs" }]);
    expect((await patient.read()).out).toMatch(/checks, 1 could not be asked\n$/);
  });

  it("exits 1 when something was", async () => {
    expect((await makePatient({ machine, tables: { signing: {} } }).examine()).exitCode).toBe(1);
  });
});

const docs = readFileSync(join(ROOT, "docs/doctor.md"), "utf8");

describe("docs/doctor.md", () => {
  it("lists every check, and no other", () => {
    const listed = [...docs.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, id]) => id);
    expect(listed).toEqual(CHECKS.map(({ id }) => id));
    expect(docs).toContain(`"checks": ${CHECKS.length}`);
  });
});
