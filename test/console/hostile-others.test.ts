/** What upstreams and their manifests write, and contracts: text, whole, and nothing else. */
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { agentManifest, execute, hostedFiles, MAYA, openAcp, remote } from "../support/agntcy.ts";
import { describeInBrowser, goWithin, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, consoleOf, openConsole, type TestConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { createDaemon, serve } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { HARM, HARMLESS, MARKS, PROGRAMS } from "../support/hostile-text.ts";
import { SANE } from "../support/mcp-upstream.ts";
import { AUDIT, NORA, negotiationFiles, OPT_IN } from "../support/negotiation.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { runIn } from "../support/terminal.ts";

const AGENT = "ab".repeat(32);
const HOSTILE = `${PROGRAMS} ${MARKS}`;
/** The beginning of it, as a page shows it. */
const SHOWN = "window.hacked=1";

/** A page of an operator on a telephone. */
async function enter(house: TestConsole): Promise<Page & { readonly faults: readonly string[] }> {
  const page = await openPage({ viewport: { width: 360, height: 800 } });
  await signIn(page, await house.link({ name: "Nina" }));
  return page;
}

async function expectHarmless(page: Page, path: string): Promise<void> {
  await goWithin(page, path);
  expect([path, await page.evaluate(HARM)]).toEqual([path, HARMLESS]);
}

describeInBrowser("no page is harmed by", () => {
  it("a tool's name, its description, and the names in its schema", async () => {
    // A configuration takes its own marks for variables.
    const written = HOSTILE.replaceAll("$\u007b", () => "$$\u007b");
    // A server may name its tools with any 256 characters.
    const [programs = ""] = PROGRAMS.split("$");
    const name = `echo ${MARKS} ${programs}`.slice(0, 256);
    const config = (env: Readonly<Record<string, string>> = {}): string =>
      configFile({
        ...CONSOLE,
        mcp: {
          servers: [
            {
              ...{ name: "tools", command: process.execPath, args: [SANE] },
              env: { ECHO_NAME: name, ...env },
            },
          ],
        },
      });
    const deployment = makeDeployment({
      "agtp-server.toml": config(),
      "agents/alma.agent.json": agentFile({
        ...{ agent_id: AGENT, name: "alma", scopes_accepted: ["tools:read", "tools:write"] },
      }),
    });
    const { out } = await runIn(
      deployment.directory,
      ...([mcpProgram, ["import", "tools", "--json", "-o", "endpoints/tools"]] as const),
    );
    const [{ tool, method, path }] = JSON.parse(out).endpoints;
    expect(tool).toBe(name);
    const call = { method, path, body: { text: "hello" } };
    const first = await createDaemon(deployment);
    expect((await askHouse(consoleOf(first), AGENT, call)).status).toBe(200);
    await first.close();
    const changed = { ECHO_DESCRIPTION: written, ECHO_PROPERTY: written };
    writeFileSync(deployment.configPath, config(changed));
    const daemon = await serve(deployment);
    const house = consoleOf(daemon);
    expect((await askHouse(house, AGENT, call)).status).toBe(422);
    const page = await enter(house);
    const own = ["/endpoints", `/endpoints/${method}${path}`];
    for (const each of ["/upstreams", "/approvals", ...own, "/traffic"]) {
      await expectHarmless(page, each);
    }
    await goWithin(page, "/upstreams");
    await page.getByText(SHOWN).first().waitFor();
    // What is decided is about the tool of that very name.
    const accept = page.getByRole("button", { name: "Accept definition" });
    await accept.click();
    const question = page.getByRole("group", { name: "Accept the new definition of echo" });
    await question.getByRole("button", { name: "Accept definition" }).click();
    await page.getByRole("status").getByText("The definition is accepted.").waitFor();
    expect(await page.evaluate(HARM)).toEqual(HARMLESS);
    expect((await askHouse(house, AGENT, call)).status).toBe(200);
    expect(page.faults).toEqual([]);
  });

  it("the manifest of an AGNTCY agent, and what its runs ask", async () => {
    const server = await openAcp();
    const manifest = (url: string): object => {
      const plain = agentManifest({ options: [remote(url)] }) as {
        readonly metadata: object;
      };
      return { ...plain, metadata: { ...plain.metadata, description: HOSTILE } };
    };
    const files = hostedFiles(server, { tables: CONSOLE, manifest });
    const house = await openConsole({
      ...files,
      "agents/maya.agent.json": agentFile({
        ...{
          agent_id: MAYA,
          name: HOSTILE.slice(0, 200),
          scopes_accepted: ["mailcomposer:execute"],
        },
      }),
    });
    await askHouse(house, MAYA, execute({ input: { message: HOSTILE } }));
    const page = await enter(house);
    const own = ["/endpoints", "/endpoints/EXECUTE/mailcomposer", "/agents", `/agents/${MAYA}`];
    for (const path of ["/upstreams", ...own, "/records", "/traffic"]) {
      await expectHarmless(page, path);
    }
    await page.goto(`${house.origin}/endpoints/EXECUTE/mailcomposer`);
    await page.getByText(SHOWN).first().waitFor();
    expect(page.faults).toEqual([]);
  });

  it("a contract, and the name of the agent that has it", async () => {
    const files = negotiationFiles(CONSOLE);
    const nora = JSON.parse(files["agents/nora.agent.json"] ?? "{}") as object;
    const house = await openConsole({
      ...files,
      "agents/nora.agent.json": JSON.stringify({ ...nora, name: HOSTILE.slice(0, 200) }),
    });
    const offered = await askHouse(house, NORA, { ...AUDIT, headers: OPT_IN });
    expect(offered.body["synthesis_id"]).toEqual(expect.any(String));
    const page = await enter(house);
    for (const path of ["/contracts", "/agents", `/agents/${NORA}`]) {
      await expectHarmless(page, path);
    }
    await page.goto(`${house.origin}/contracts`);
    await page.getByText("AUDIT /reviews").first().waitFor();
    expect(page.faults).toEqual([]);
  });

  describeWithPostgres("a database of several nodes", () => {
    it("the names of the others, their addresses and their versions", async () => {
      const url = await postgres().makeDatabase();
      const store = { driver: "postgres", url };
      const house = await openConsole({ "agtp-server.toml": configFile({ ...CONSOLE, store }) });
      // No daemon of ours would take this name: another program that has the database may.
      const text = `'${HOSTILE.replaceAll("'", "''")}'`;
      await postgres().query(
        `INSERT INTO agtp.nodes (node, process, address, version, lease_ms)
          VALUES (${text}, ${text}, ${text}, ${text}, 2000)`,
        url,
      );
      const page = await enter(house);
      await expectHarmless(page, "/nodes");
      await page.getByText(SHOWN).first().waitFor();
      expect(page.faults).toEqual([]);
    });
  });
});
