/** What upstreams and their manifests write, and contracts: text, whole, and nothing else. */
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { agentManifest, execute, hostedFiles, MAYA, openAcp, remote } from "../support/agntcy.ts";
import { describeInBrowser, goWithin, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, consoleOf, openConsole, type TestConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { createDaemon } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { HARM, HARMLESS, MARKS, PROGRAMS } from "../support/hostile-text.ts";
import { SANE } from "../support/mcp-upstream.ts";
import { AUDIT, NORA, negotiationFiles, OPT_IN } from "../support/negotiation.ts";
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
  it("a tool's description, and the names in its schema", async () => {
    const config = (env: Readonly<Record<string, string>> = {}): string =>
      configFile({
        ...CONSOLE,
        mcp: { servers: [{ name: "tools", command: process.execPath, args: [SANE], env }] },
      });
    const deployment = makeDeployment({
      "agtp-server.toml": config(),
      "agents/alma.agent.json": agentFile({
        ...{ agent_id: AGENT, name: "alma", scopes_accepted: ["tools:write"] },
      }),
    });
    await runIn(deployment.directory, mcpProgram, ["import", "tools", "-o", "endpoints/tools"]);
    const call = { method: "ECHO", path: "/tools", body: { text: "hello" } };
    const first = await createDaemon(deployment);
    expect((await askHouse(consoleOf(first), AGENT, call)).status).toBe(200);
    await first.close();
    // A configuration takes its own marks for variables.
    const written = HOSTILE.replaceAll("$\u007b", () => "$$\u007b");
    const changed = { ECHO_DESCRIPTION: written, ECHO_PROPERTY: written };
    writeFileSync(deployment.configPath, config(changed));
    const daemon = await createDaemon(deployment);
    onTestFinished(() => daemon.close());
    const house = consoleOf(daemon);
    expect((await askHouse(house, AGENT, call)).status).toBe(422);
    const page = await enter(house);
    for (const path of ["/upstreams", "/approvals", "/endpoints/ECHO/tools", "/traffic"]) {
      await expectHarmless(page, path);
    }
    await page.goto(`${house.origin}/upstreams`);
    await page.getByText(SHOWN).first().waitFor();
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
});
