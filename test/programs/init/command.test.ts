import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { checkDeployment } from "../../../src/app/daemon.ts";
import { createLog } from "../../../src/base/log.ts";
import { parseToml } from "../../../src/base/toml-document.ts";
import { VERSION } from "../../../src/base/version.ts";
import { isPlainModule } from "../../../src/handlers/module-loader.ts";
import { doctorCommand } from "../../../src/programs/doctor/command.ts";
import { thisMachine } from "../../../src/programs/doctor/machine.ts";
import type { Ask } from "../../../src/programs/init/answers.ts";
import { initCommand } from "../../../src/programs/init/command.ts";
import { keysProgram } from "../../../src/programs/keys/command.ts";
import { makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

async function init(args: readonly string[], { ask, cwd = makeDirectory() }: InitOptions = {}) {
  const open = ask === undefined ? undefined : () => ({ ask, close: () => undefined });
  const { exitCode, out, err } = await runIn(cwd, initCommand(open), args);
  const read = (name: string): string => readFileSync(join(cwd, "shop", name), "utf8");
  return { exitCode, out, err, cwd, shop: join(cwd, "shop"), read };
}

interface InitOptions {
  readonly ask?: Ask;
  readonly cwd?: string;
}

/** Somebody who says this, in order, and then goes away. */
function person(...answers: readonly string[]) {
  const asked: string[] = [];
  const ask: Ask = (question) => {
    asked.push(question);
    return Promise.resolve(answers[asked.length - 1]);
  };
  return { asked, ask };
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(directory, name)).isFile())
    .toSorted();
}

function check(directory: string) {
  const silent = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
  const configPath = join(directory, "agtp-server.toml");
  return checkDeployment({ configPath, env: {}, log: silent });
}

const FILES = [
  ".agtp/keys/guide.pem",
  ".agtp/keys/signing.pem",
  ".agtp/schema/endpoint.json",
  ".agtp/schema/recipe.json",
  ".agtp/schema/server.json",
  ".gitignore",
  "README.md",
  "agents/guide.agent.json",
  "agents/guide.genesis.json",
  "agtp-server.toml",
  "catalog/methods.json",
  "endpoints/items.mjs",
  "endpoints/query-item.toml",
  "recipes/compare-items.toml",
];

describe("the steps that are told", () => {
  it("go by npx where init did, and never by a name that another package may have", async () => {
    const world = { environment: { npm_command: "exec" } };
    const { out } = await runIn(makeDirectory(), initCommand(), ["shop", "--yes"], world);
    expect(out).toContain("\n  npx agtpd --config agtp-server.toml\n");
    expect(out).toContain("\n  npx agtpd client agtp://localhost\n");
    expect(out).not.toMatch(/^ {2}(?:npx )?agtp /m);
  });

  it("go by the files of a checkout where init did, whose programs are on no path", async () => {
    const world = { script: "/src/their agtpd/dist/tools/agtpd.js" };
    const { out } = await runIn(makeDirectory(), initCommand(), ["shop", "--yes"], world);
    const tools = "/src/their agtpd/dist/tools";
    expect(out).toContain(`\n  node '${tools}/agtpd.js' --config agtp-server.toml\n`);
    expect(out).toContain(`\n  node '${tools}/agtp.js' agtp://localhost\n`);
    expect(out).not.toMatch(/^ {2}agtpd? /m);
  });
});

describe("agtpd init", () => {
  it("makes a deployment that --check finds nothing wrong with, nor the doctor", async () => {
    const { exitCode, shop, err } = await init(["shop", "--yes"]);
    expect(exitCode).toBe(0);
    expect(filesIn(shop)).toEqual(FILES);
    expect(err).toContain("shop.localhost (--server-id says otherwise)");
    expect(await check(shop)).toEqual([]);
    const doctor = doctorCommand({ ...thisMachine(), nodeVersion: "v24.11.0" });
    const examined = await runIn(shop, doctor, []);
    expect(examined.exitCode).toBe(0);
    expect(examined.out).toContain("nothing found");
  });

  it("makes a handler that Node loads without hooks", async () => {
    const { shop } = await init(["shop", "--yes"]);
    expect(isPlainModule(join(shop, "endpoints/items.mjs"))).toBe(true);
  });

  it("keeps keys for their owner alone, and out of version control", async () => {
    const { shop, read } = await init(["shop", "--yes"]);
    for (const name of [".agtp/keys/guide.pem", ".agtp/keys/signing.pem"]) {
      expect(statSync(join(shop, name)).mode & 0o777).toBe(0o600);
      expect(read(name)).toContain("PRIVATE KEY");
    }
    for (const name of [".agtp", ".agtp/keys"]) {
      expect(statSync(join(shop, name)).mode & 0o777).toBe(0o700);
    }
    expect(read(".gitignore").split("\n")).toContain(".agtp/");
    for (const name of FILES.filter((file) => !file.startsWith(".agtp"))) {
      expect(read(name)).not.toContain("PRIVATE KEY");
    }
  });

  it("lets nobody else write, whatever the umask", async () => {
    const before = process.umask(0);
    try {
      const { shop } = await init(["shop", "--yes"]);
      const modes = readdirSync(shop, { recursive: true, encoding: "utf8" })
        .map((name) => [name, statSync(join(shop, name)).mode & 0o022] as const)
        .filter(([, mode]) => mode !== 0);
      expect(modes).toEqual([]);
    } finally {
      process.umask(before);
    }
  });

  it("makes an agent whose documents verify", async () => {
    const { shop } = await init(["shop", "--yes", "--agent", "lauren"]);
    const files = ["agents/lauren.genesis.json", "agents/lauren.agent.json"];
    const args = ["verify", ...files, "--issuer-key", ".agtp/keys/signing.pem"];
    expect(await runIn(shop, keysProgram, args)).toMatchObject({ exitCode: 0 });
  });

  it("makes other keys and another agent each time", async () => {
    const [one, two] = [await init(["shop", "--yes"]), await init(["shop", "--yes"])];
    expect(one.read(".agtp/keys/signing.pem")).not.toBe(two.read(".agtp/keys/signing.pem"));
    expect(one.read("agents/guide.agent.json")).not.toBe(two.read("agents/guide.agent.json"));
  });

  it("explains every file that can have comments", async () => {
    const { read } = await init(["shop", "--yes"]);
    for (const name of FILES.filter((file) => /\.(?:toml|mjs)$|ignore$/.test(file))) {
      expect(read(name), name).toMatch(/^(?:#:schema .*\n# |# |\/\*\*)/);
    }
  });

  it("takes every answer from flags, and asks for none of them", async () => {
    const { asked, ask } = person();
    const flags = [
      ...["--server-id", "agents.acme.example", "--operator", 'Acme "Retail" \\ Söhne'],
      ...["--contact", "ops@acme.example", "--agent", "lauren", "--port", "4490"],
    ];
    const { exitCode, err, shop, read } = await init(["shop", ...flags], { ask });
    expect([exitCode, err, asked]).toEqual([0, "", []]);
    expect(parseToml(read("agtp-server.toml")).table?.["server"]).toMatchObject({
      server_id: "agents.acme.example",
      operator: 'Acme "Retail" \\ Söhne',
      contact: "ops@acme.example",
      port: 4490,
    });
    expect(JSON.parse(read("agents/lauren.agent.json"))).toMatchObject({
      name: "lauren",
      principal: 'Acme "Retail" \\ Söhne',
      owner_id: "acme-retail-sohne",
    });
    expect(read("README.md")).toContain("agtp agtp://localhost:4490 QUERY /items/tea");
    expect(await check(shop)).toEqual([]);
  });

  it("writes an answer so that it stays what it is, whatever the environment holds", async () => {
    const operator = `Acme \${HOME} $\${HOME}`;
    const { exitCode, shop } = await init(["shop", "--yes", "--operator", operator]);
    expect(exitCode).toBe(0);
    const { config } = loadConfig(join(shop, "agtp-server.toml"), { HOME: "/home/secret" });
    expect(config?.server.operator).toBe(operator);
  });

  it("takes --name for --server-id", async () => {
    const { read } = await init(["shop", "--yes", "--name", "agents.acme.example"]);
    expect(read("agtp-server.toml")).toContain('server_id = "agents.acme.example"');
  });

  it("makes no agent where none is wanted", async () => {
    const { exitCode, out, shop, read } = await init(["shop", "--yes", "--no-agent"]);
    expect(exitCode).toBe(0);
    expect(out).toContain("no agent");
    expect(existsSync(join(shop, "agents"))).toBe(false);
    expect(read("README.md")).not.toContain("--agent-id");
    expect(await check(shop)).toEqual([]);
  });

  it("tells what it made as JSON", async () => {
    const { out, cwd, read } = await init(["shop", "--yes", "--json"]);
    expect(JSON.parse(out)).toEqual({
      directory: join(cwd, "shop"),
      server_id: "shop.localhost",
      port: 4480,
      agent: "guide",
      agent_id: JSON.parse(read("agents/guide.agent.json")).agent_id,
      files: FILES,
      start: "agtpd --config agtp-server.toml",
      try: [expect.any(String), expect.any(String), expect.any(String)],
    });
  });

  it("fills the directory that it stands in", async () => {
    const cwd = makeDirectory();
    mkdirSync(join(cwd, "shop"));
    const { exitCode } = await init([".", "--yes"], { cwd: join(cwd, "shop") });
    expect(exitCode).toBe(0);
    expect(filesIn(join(cwd, "shop"))).toEqual(FILES);
  });
});

describe("agtpd init, at a terminal", () => {
  it("asks three questions, and takes what it proposes for an empty answer", async () => {
    const { asked, ask } = person("agents.acme.example", "", "lauren");
    const { exitCode, read } = await init(["shop"], { ask });
    expect(exitCode).toBe(0);
    expect(asked).toEqual([
      "How agents know the server [shop.localhost]: ",
      "Who runs it [The operator of agents.acme.example]: ",
      "Name of a first agent, - for none [guide]: ",
    ]);
    expect(read("agtp-server.toml")).toContain('operator = "The operator of agents.acme.example"');
    expect(read("agents/lauren.agent.json")).toContain('"name": "lauren"');
  });

  it("asks again when an answer cannot be one, and says why", async () => {
    const { asked, ask } = person("no such host", "shop.example", "Acme", "-");
    const { exitCode, err, shop } = await init(["shop"], { ask });
    expect([exitCode, asked.length]).toEqual([0, 4]);
    expect(err).toBe(
      '"no such host" must be a name such as agents.acme.example, of A-Z a-z 0-9 . -\n',
    );
    expect(existsSync(join(shop, "agents"))).toBe(false);
  });

  it("makes nothing when the answers end, or never become usable", async () => {
    const gone = await init(["shop"], { ask: person("shop.example").ask });
    expect([gone.exitCode, existsSync(gone.shop)]).toEqual([2, false]);
    expect(gone.err).toContain("no answer, so nothing was made");
    const stubborn = await init(["shop"], { ask: () => Promise.resolve("?") });
    expect([stubborn.exitCode, existsSync(stubborn.shop)]).toEqual([2, false]);
  });

  it("asks nobody about a directory that cannot be one, or beside a wrong flag", async () => {
    const cwd = makeDirectory({ "shop/mine": "mine" });
    const { asked, ask } = person();
    const taken = await init(["shop"], { ask, cwd });
    expect(taken.exitCode).toBe(2);
    expect(taken.err).toBe(
      'agtpd init: "shop" has something in it, and nothing is ever overwritten\n',
    );
    expect((await init(["new", "--operator", ""], { ask, cwd })).exitCode).toBe(2);
    expect((await init(["new", "--agent", "a/b"], { ask, cwd })).exitCode).toBe(2);
    expect(asked).toEqual([]);
    expect(filesIn(cwd)).toEqual(["shop/mine"]);
  });
});

describe("agtpd init, refusing", () => {
  it.each([
    [[]],
    [[""]],
    [["shop", "surplus"]],
    [["shop", "--unknown"]],
    [["shop", "--yes", "--port", "0"]],
    [["shop", "--yes", "--server-id", "a b"]],
    [["shop", "--yes", "--contact", "a\nb"]],
    [["shop", "--yes", "--agent", "../escape"]],
  ])("exits 2 and writes nothing for %j", async (args) => {
    const { exitCode, out, err, cwd } = await init(args);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).not.toBe("");
    expect(readdirSync(cwd)).toEqual([]);
  });

  it("explains itself, and says its version", async () => {
    const help = await init(["--help"]);
    expect([help.exitCode, help.err]).toEqual([0, ""]);
    for (const flag of ["--yes", "--server-id", "--operator", "--no-agent", "--json"]) {
      expect(help.out).toContain(flag);
    }
    expect((await init(["--version"])).out).toBe(`${VERSION}\n`);
  });

  it("says it in words when the directory above cannot be written", async () => {
    const cwd = makeDirectory();
    writeFileSync(join(cwd, "file"), "");
    const { exitCode, err } = await init(["file/shop", "--yes"], { cwd });
    expect(exitCode).toBe(2);
    expect(err).toContain('"file/shop" cannot be');
  });
});
