/** Questions that an MCP server asks in the middle of a call, answered at the console. */
import { expect, it, onTestFinished } from "vitest";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, consoleOf, type TestConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { createDaemon } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { ASKING } from "../support/mcp-upstream.ts";
import { runIn } from "../support/terminal.ts";

const AGENT = "ab".repeat(32);
const RESERVE = { method: "RESERVE", path: "/seats", body: { city: "Rome" } };

async function openAsking(): Promise<TestConsole> {
  const server = { name: "seats", command: process.execPath, args: [ASKING] };
  const deployment = makeDeployment({
    "agtp-server.toml": configFile({ ...CONSOLE, mcp: { servers: [server] } }),
    "agents/alma.agent.json": agentFile({
      ...{ agent_id: AGENT, name: "alma", scopes_accepted: ["seats:write"] },
    }),
  });
  await runIn(deployment.directory, mcpProgram, ["import", "seats", "-o", "endpoints/seats"]);
  const daemon = await createDaemon(deployment);
  onTestFinished(() => daemon.close());
  return consoleOf(daemon);
}

describeInBrowser("a question of an upstream", () => {
  it("is shown whole, and its call goes on with the operator's answer", async () => {
    const house = await openAsking();
    const asked = await askHouse(house, AGENT, RESERVE);
    const id = String(asked.body["escalation_id"]);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByText("Which seat?").waitFor();
    await page.getByRole("region", { name: "Schema of the answer" }).getByText("aisle").waitFor();
    const answer = page.getByLabel("Answer, in JSON");
    for (const [text, said] of [
      ["no JSON", "Approve failed: the answer is no JSON object"],
      ["{}", "Approve failed:"],
    ] as const) {
      await answer.fill(text);
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByText(said).waitFor();
    }
    await answer.fill('{"seat":"window"}');
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("Approved.").waitFor();
    const further = await askHouse(house, AGENT, {
      ...RESERVE,
      headers: { "Escalation-ID": id },
    });
    expect(further).toMatchObject({
      status: 202,
      body: { requested_schema: { properties: { pay: { type: "boolean" } } } },
    });
  });

  it("is not shown to viewers", async () => {
    const house = await openAsking();
    const asked = await askHouse(house, AGENT, RESERVE);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Vera", role: "viewer" }));
    await page.goto(`${house.origin}/approvals/${asked.body["escalation_id"]}`);
    await page.getByText("Operators see what is asked.").waitFor();
    expect(await page.getByText("Which seat?").count()).toBe(0);
  });
});
