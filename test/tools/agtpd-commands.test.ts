/** `agtpd init` and `agtpd doctor` as built programs. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, runProgram, startProgram } from "../support/agtpd.ts";
import { makeDirectory } from "../support/directory.ts";

describe("agtpd", () => {
  it("names its commands in --help", async () => {
    const { code, stdout } = await runProgram({ args: ["--help"] });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}init {2,}\w/m);
    expect(stdout).toMatch(/^ {2}doctor {2,}\w/m);
  });

  it("makes a deployment without a terminal, starts it, and finds nothing serious", async () => {
    const cwd = makeDirectory();
    const made = await runProgram({ cwd, args: ["init", "shop", "--json"] });
    expect([made.code, JSON.parse(made.stdout).server_id]).toEqual([0, "shop.localhost"]);
    const config = join(cwd, "shop/agtp-server.toml");
    const checked = await runProgram({ args: ["--check", "--config", config] });
    expect([checked.code, checked.stdout]).toEqual([0, ""]);
    const { ready, log } = await startProgram(config);
    expect(ready["server_id"]).toBe("shop.localhost");
    expect(log.filter(({ level }) => level !== "info")).toEqual([]);
    // Beside the daemon that has the deployment open.
    const [behind, before] = await Promise.all([
      runProgram({ args: ["doctor", "--config", config, "--json"] }),
      runCommand(["--config", config, "doctor"], cwd),
    ]);
    expect([behind.code, JSON.parse(behind.stdout).ok]).toEqual([0, true]);
    expect([before.exitCode, before.err]).toEqual([0, ""]);
    expect(before.out).toContain("checks");
    // Four processes one after another.
  });

  it("overwrites nothing", async () => {
    const cwd = makeDirectory({ "shop/mine": "mine" });
    const { exitCode, out, err } = await runCommand(["init", "shop", "--yes"], cwd);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain('"shop" has something in it');
  });

  it("has each command explain itself, and refuse what it does not know", async () => {
    const cwd = makeDirectory();
    const usages = [
      { args: ["init", "--help"], code: 0 },
      { args: ["doctor", "--help"], code: 0 },
      { args: ["init"], code: 2 },
      { args: ["init", "shop", "--loud"], code: 2 },
      { args: ["--check", "init", "shop"], code: 2 },
      { args: ["doctor", "surplus"], code: 2 },
      { args: ["doctor"], code: 2 },
    ];
    const outcomes = await Promise.all(usages.map(({ args }) => runCommand(args, cwd)));
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(usages.map(({ code }) => code));
    expect(outcomes[0]?.out).toContain("agtpd init");
    expect(outcomes[1]?.out).toContain("agtpd doctor");
    expect(existsSync(join(cwd, "shop"))).toBe(false);
  });
});
