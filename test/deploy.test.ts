/** The units of deploy/: what they call is there, and what they open is nothing by default. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { VERSION } from "../src/base/version.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import { daemonProgram } from "../tools/agtpd-program.ts";
import { makeDirectory } from "./support/directory.ts";
import { keepingTerminal } from "./support/terminal.ts";

function read(name: string): string {
  return readFileSync(join("deploy", name), "utf8");
}

/** The values of a key, in the order of a unit. */
function valuesOf(unit: string, key: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** The exit code of `--help` behind the words of a command: 2 where there is no such option. */
async function understood(words: readonly string[]): Promise<number> {
  const program = daemonProgram(() => Promise.resolve(undefined));
  return await runProgram(program, [...words, "--help"], keepingTerminal(makeDirectory()));
}

describe("deploy/agtpd.service", () => {
  const unit = read("agtpd.service");

  it("checks, starts and reloads with commands that there are", async () => {
    const commands = ["ExecStartPre", "ExecStart", "ExecReload"].flatMap((key) =>
      valuesOf(unit, key),
    );
    expect(commands).toEqual(["/usr/bin/agtpd --check", "/usr/bin/agtpd", "/usr/bin/agtpd reload"]);
    for (const command of commands) {
      expect(await understood(command.split(" ").slice(1)), command).toBe(0);
    }
    expect(valuesOf(unit, "Type")).toEqual(["exec"]);
    expect(valuesOf(unit, "User")).toEqual(["agtpd"]);
  });

  it("waits longer for a drain than the daemon takes for it by default", () => {
    const [seconds] = valuesOf(unit, "TimeoutStopSec");
    expect(Number(seconds)).toBeGreaterThan(10);
  });

  it("is one that systemd takes, and finds little to say about, where it is", ({ skip }) => {
    const file = join(makeDirectory(), "agtpd.service");
    const here = unit.replaceAll("/usr/bin/agtpd", process.execPath);
    writeFileSync(file, here.replace(/^(User|Group)=.*$/gm, "$1=root"));
    const verified = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    if (verified.error !== undefined) skip("there is no systemd-analyze");
    expect([verified.status, verified.stderr]).toEqual([0, ""]);
    const args = ["security", "--offline=true", "--threshold=25", file];
    expect(spawnSync("systemd-analyze", args, { encoding: "utf8" }).status).toBe(0);
  });
});

describe("deploy/Containerfile", () => {
  const file = read("Containerfile");
  const last = file.slice(file.lastIndexOf("\nFROM "));

  it("installs this version on Node 24, without running scripts of packages", () => {
    expect(file).toContain("NODE_IMAGE=docker.io/library/node:24-");
    expect(file).toContain(`PACKAGE=agtpd@${VERSION}`);
    expect(file).toMatch(/npm install [^\n]*--omit=dev --ignore-scripts/);
  });

  it("runs as nobody's root, exposes nothing, and asks the daemon how it is", async () => {
    expect(last).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(last).not.toMatch(/^EXPOSE/m);
    const check = /HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(last)?.[1] ?? "[]";
    const [program, ...words]: readonly string[] = JSON.parse(check);
    expect(program).toBe("agtpd");
    expect(await understood(words)).toBe(0);
  });
});

describe("deploy/compose.yaml and deploy/agtpd.container", () => {
  it("publish a port on loopback, over a root file system that is read-only", () => {
    const { services } = parse(read("compose.yaml"));
    expect(services.agtpd).toMatchObject({
      ports: ["127.0.0.1:4480:4480"],
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    const quadlet = read("agtpd.container");
    expect(valuesOf(quadlet, "PublishPort")).toEqual(["127.0.0.1:4480:4480"]);
    expect(valuesOf(quadlet, "ReadOnly")).toEqual(["true"]);
    expect(valuesOf(quadlet, "DropCapability")).toEqual(["all"]);
    expect(valuesOf(quadlet, "NoNewPrivileges")).toEqual(["true"]);
  });
});
