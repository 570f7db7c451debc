/** A new deployment, served over TLS; the commands of its README are run as a shell reads them. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agtpProgram } from "../../../src/programs/agtp/command.ts";
import { initCommand } from "../../../src/programs/init/command.ts";
import { keysProgram } from "../../../src/programs/keys/command.ts";
import { createDaemon } from "../../support/daemon.ts";
import { createDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

interface Site {
  readonly directory: string;
  readonly port: number;
}

async function serve(...args: readonly string[]): Promise<Site> {
  const above = createDirectory();
  onTestFinished(() => rmSync(above, { recursive: true, force: true }));
  const { exitCode, err } = await runIn(above, initCommand(), ["shop", "--yes", ...args]);
  if (exitCode !== 0) throw new Error(err);
  const directory = join(above, "shop");
  const configPath = join(directory, "agtp-server.toml");
  const { PATH, HOME } = process.env;
  const daemon = await createDaemon({ directory, configPath }, { PATH, HOME });
  onTestFinished(() => daemon.close());
  return { directory, port: daemon.daemon.port };
}

/** The commands of the shell blocks that begin with this program. */
function readmeCommands(directory: string, program: string): readonly string[] {
  const blocks = readFileSync(join(directory, "README.md"), "utf8").matchAll(/```sh\n(.*?)\n```/gs);
  return [...blocks]
    .flatMap(([, text = ""]) => text.split("\n"))
    .filter((line) => {
      return line.startsWith(`${program} `);
    });
}

/** What a shell makes of the words behind the program's name. */
function words(command: string): readonly string[] {
  const rest = command.slice(command.indexOf(" "));
  const output = execFileSync("sh", ["-c", `printf '%s\\0' ${rest}`]);
  return output.toString("utf8").split("\0").slice(0, -1);
}

async function ask({ directory, port }: Site, command: string) {
  const args = words(command).map((word) => {
    return word === "agtp://localhost" ? `agtp://localhost:${port}` : word;
  });
  const { exitCode, out, err } = await runIn(directory, agtpProgram, args);
  return { exitCode, err, body: JSON.parse(out) };
}

function findPython(): boolean {
  try {
    execFileSync("python3", ["-c", "import sys; assert sys.version_info >= (3, 9)"]);
    return true;
  } catch {
    return false;
  }
}

describe.runIf(findPython())("a new deployment with handlers in Python", () => {
  it("answers as the other one does", async () => {
    const site = await serve("--handlers", "python");
    const [, query = ""] = readmeCommands(site.directory, "agtp");
    const tea = await ask(site, query);
    expect(tea.body).toEqual({ item_id: "tea", price: 4.5, currency: "EUR", in_stock: 120 });
    const unknown = await ask(site, query.replace("/items/tea", "/items/gold"));
    expect(unknown.body.error).toMatchObject({
      code: "item_unknown",
      details: { known: ["tea", "coffee", "cocoa"] },
    });
  });
});

describe("a new deployment", () => {
  it("answers every command of its README", async () => {
    const site = await serve();
    const commands = readmeCommands(site.directory, "agtp");
    expect(commands).toHaveLength(4);
    const answers = [];
    for (const command of commands) answers.push(await ask(site, command));
    expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
    const [manifest, tea, approved, compared] = answers.map(({ body }) => body);
    expect(manifest).toMatchObject({ server: { server_id: "shop.localhost" } });
    expect(tea).toEqual({ item_id: "tea", price: 4.5, currency: "EUR", in_stock: 120 });
    expect(approved).toMatchObject({ status: 263, method: "COMPARE", path: "/items" });
    expect(compared.results.map((item: { item_id: string }) => item.item_id)).toEqual([
      "tea",
      "coffee",
    ]);
  });

  it("answers with the error that its endpoint declares, and refuses strangers", async () => {
    const site = await serve();
    const [, query = ""] = readmeCommands(site.directory, "agtp");
    const unknown = await ask(site, query.replace("/items/tea", "/items/gold"));
    expect(unknown.exitCode).toBe(1);
    expect(unknown.body.error).toMatchObject({ code: "item_unknown" });
    expect(unknown.body.error.details).toEqual({ known: ["tea", "coffee", "cocoa"] });
    const stranger = await ask(
      site,
      query.replace(/--agent-id \w+/, `--agent-id ${"0".repeat(64)}`),
    );
    expect(stranger.body.error.code).toBe("agent-unauthenticated");
  });

  it("signs its records and its manifest", async () => {
    const site = await serve();
    const [manifest = "", query = ""] = readmeCommands(site.directory, "agtp");
    expect((await ask(site, manifest)).err).toBe("");
    const { body } = await ask(site, `${query} --json`);
    const [header = ""] = String(body.headers["attribution-record"]).split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString()).alg).toBe("EdDSA");
  });

  it("answers without an agent as well, and says how one is made", async () => {
    const site = await serve("--no-agent");
    const commands = readmeCommands(site.directory, "agtp");
    expect(commands).toHaveLength(3);
    for (const command of commands) expect((await ask(site, command)).exitCode, command).toBe(0);
    const [making = ""] = readmeCommands(site.directory, "agtp-keys");
    const made = await runIn(site.directory, keysProgram, words(making));
    expect(made.exitCode).toBe(0);
  });
});
