import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { makeDirectory } from "../../support/directory.ts";

const CONFIGURATION = `
[server]
server_id = "a.example"
operator = "\${OPERATOR}"
contact = "\${CONTACT}"
`;

function load(env: string | undefined, environment = {}) {
  const directory = makeDirectory();
  mkdirSync(join(directory, "catalog"));
  writeFileSync(join(directory, "catalog/methods.json"), "{}");
  if (env !== undefined) writeFileSync(join(directory, ".env"), env);
  const path = join(directory, "agtp-server.toml");
  writeFileSync(path, CONFIGURATION);
  return { directory, path, loaded: loadConfig(path, environment) };
}

const VARIABLE = `\${CONTACT}`;

describe("the .env of a deployment", () => {
  it("has the variables that the environment does not have", () => {
    const { loaded } = load("OPERATOR=Acme\nexport CONTACT='ops@acme.example' # theirs\n", {
      OPERATOR: "The environment's",
    });
    expect(loaded.problems).toEqual([]);
    expect(loaded.config?.server).toMatchObject({
      operator: "The environment's",
      contact: "ops@acme.example",
    });
    expect(loaded.environment["CONTACT"]).toBe("ops@acme.example");
  });

  it("puts in nothing by itself: a value may hold what looks like a variable", () => {
    const { loaded } = load(`OPERATOR='${VARIABLE}'\nCONTACT=a`, {});
    expect(loaded.config?.server.operator).toBe(VARIABLE);
  });

  it("is read anew with the configuration", () => {
    const { directory, path } = load("OPERATOR=one\nCONTACT=c");
    writeFileSync(join(directory, ".env"), "OPERATOR=two\nCONTACT=c");
    expect(loadConfig(path, {}).config?.server.operator).toBe("two");
  });

  it("may be absent, and then a variable that is nowhere is a problem", () => {
    const { loaded } = load(undefined, { OPERATOR: "o" });
    expect(loaded.config).toBeUndefined();
    expect(loaded.problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "server.contact",
        message: "the environment variable CONTACT is not set",
        hint: "set it where the daemon is started, or in .env beside the configuration",
      },
    ]);
  });

  it("is a problem where it cannot be read, and the configuration is told as well", () => {
    const { directory, path } = load(undefined);
    mkdirSync(join(directory, ".env"));
    const { config, problems } = loadConfig(path, { OPERATOR: "o", CONTACT: "c" });
    expect(config).toBeUndefined();
    expect(problems).toEqual([
      { file: ".env", key: "", message: "must be a file, is a directory" },
    ]);
    writeFileSync(path, CONFIGURATION.replace("server_id", "server_ib"));
    expect(
      loadConfig(path, { OPERATOR: "o", CONTACT: "c" }).problems.map(({ key }) => key),
    ).toEqual(["", "server.server_id", "server.server_ib"]);
  });
});
