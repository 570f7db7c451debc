/** `agtpd` over a journal that lacks a record: the built program, in a process of its own. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram, startProgram } from "../support/agtpd.ts";
import { look, openHouse } from "../support/console-house.ts";

/** The directory of a server whose newest record somebody took out. */
async function robbed(): Promise<string> {
  const house = await openHouse();
  for (const room of ["1", "2"]) await look(house, room);
  await house.close();
  const journal = join(house.directory, ".agtp/journal");
  const [name = ""] = readdirSync(journal).filter((one) => one.endsWith(".jws"));
  const lines = readFileSync(join(journal, name), "latin1").trimEnd().split("\n");
  writeFileSync(join(journal, name), `${lines.slice(0, -1).join("\n")}\n`, "latin1");
  return house.directory;
}

describe("agtpd over a journal that lacks a record", () => {
  it("serves the console alone where there is one, and says that it was not started", async () => {
    const directory = await robbed();
    const config = join(directory, "agtp-server.toml");
    const { child, ready, outcome } = await startProgram(config);
    expect(ready).toMatchObject({ inspect_only: true, console_port: expect.any(Number) });
    expect(ready).not.toHaveProperty("port");
    const login = await runProgram({ args: ["login", "--config", config] });
    expect(login.stdout).toContain(`http://localhost:${ready["console_port"]}/sign-in?link=`);
    child.kill("SIGTERM");
    const { code, stderr } = await outcome;
    expect(code).toBe(1);
    expect(stderr).toContain("not started\n");
    expect(stderr).toContain("lacks record");
  });

  it("has what is missing in the log, with a console and without one", async () => {
    const directory = await robbed();
    const config = join(directory, "agtp-server.toml");
    const told = { level: "error", event: "store-went-back", audit_id: expect.any(String) };
    const { child, log, outcome } = await startProgram(config);
    expect(log).toContainEqual(expect.objectContaining(told));
    child.kill("SIGTERM");
    await outcome;
    const tables = readFileSync(config, "utf8").replace(
      /(\[console\][^[]*enabled = )true/,
      "$1false",
    );
    writeFileSync(config, tables);
    const { code, stdout, stderr } = await runProgram({ args: ["--config", config] });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/lacks record .*\nnot started\n$/)]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([told]);
  });

  it("does so without a word of a start with --inspect-only, and ends well", async () => {
    const directory = await robbed();
    const config = join(directory, "agtp-server.toml");
    const { ready, outcome } = await startProgram(config, { args: ["--inspect-only"] });
    expect(ready).toMatchObject({ inspect_only: true });
    const stop = await runProgram({ args: ["stop", "--config", config] });
    expect(stop.code).toBe(0);
    expect(await outcome).toMatchObject({ code: 0 });
  });
});
