import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { daemonFlags } from "../../tools/daemon-flags.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/agtpd.js");

it("finds the flags of the first line, which this Node knows", () => {
  const flags = daemonFlags(PROGRAM);
  expect(flags).toContain("--max-semi-space-size=16");
  const said = execFileSync(process.execPath, [...flags, PROGRAM, "--version"], {
    encoding: "utf8",
  });
  expect(said).toMatch(/^\d+\.\d+\.\d+/);
});
