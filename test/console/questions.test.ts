/** Questions that an MCP server asks in the middle of a call, or a run, answered at the console. */
import { expect, it, vi } from "vitest";
import { passkeyFault, readPasskeyAttestation } from "../../src/identity/passkey-attestation.ts";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import type { Attempt } from "../support/acp-server.ts";
import { execute, MAYA, openAcp, openHosted } from "../support/agntcy.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, consoleOf, type TestConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { serve } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { ASKING } from "../support/mcp-upstream.ts";
import { PATIENCE } from "../support/patience.ts";
import { runIn } from "../support/terminal.ts";
import { plugIn, register } from "../support/virtual-passkey.ts";

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
  const daemon = await serve(deployment);
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
      ['{"seat":9007199254740993}', "Approve failed: 9007199254740993 cannot be kept to the digit"],
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

  it("is answered under a passkey, whose signature is over this answer and no other", async () => {
    const house = await openAsking();
    const asked = await askHouse(house, AGENT, RESERVE);
    const id = String(asked.body["escalation_id"]);
    const page = await openPage();
    await plugIn(page);
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/account`);
    await register(page, "desk key");
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByLabel("Answer, in JSON").fill('{"seat":"window"}');
    for (const [address, said] of [
      [`**/api/approvals/${id}`, "the passkey was not accepted"],
      ["**/api/passkeys/challenge", "a signature over something else"],
    ] as const) {
      // Somebody between the page and the daemon would have another seat.
      await page.route(address, async (route) => {
        const sent = route.request().postDataJSON();
        const content = sent?.content && { content: { seat: "aisle" } };
        await route.continue({ postData: JSON.stringify({ ...sent, ...content }) });
      });
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("status").getByText(said).waitFor();
      await page.unroute(address);
    }
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("Approved.").waitFor();
    const visitor = await house.signIn();
    const { events } = (await visitor.get(`/api/agents/${AGENT}`)).body;
    const { attestation, call_digest, content_digest } = events.at(-1).payload;
    const signed = readPasskeyAttestation(attestation);
    if (signed === undefined) throw new Error("the record has no attestation");
    const decided = { escalation_id: id, decision: "accepted", digest: call_digest };
    expect(passkeyFault(signed, { ...decided, content_digest })).toBeUndefined();
    expect(passkeyFault(signed, decided)).toContain("another answer");
  });
});

describeInBrowser("a question of a run", () => {
  it("shows the schema of the answer, and the run goes on with the operator's", async () => {
    const server = await openAcp({
      script: ({ answers }: Attempt) =>
        answers.length === 0
          ? { interrupt: { mail_send_approval: { subject: "Hello", body: "World" } } }
          : { success: { message: "sent" } },
    });
    const { ask, daemon } = await openHosted(server, { tables: CONSOLE });
    const house = consoleOf(daemon);
    const asked = await ask(MAYA, execute());
    const page = await openPage();
    await plugIn(page);
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/account`);
    await register(page, "desk key");
    await page.goto(`${house.origin}/approvals/${asked.body["escalation_id"]}`);
    await page
      .getByRole("region", { name: "Schema of the answer" })
      .getByText("approved")
      .waitFor();
    const answer = page.getByLabel("Answer, in JSON");
    for (const [text, said] of [
      ["no JSON", "Approve failed: the answer is no JSON"],
      ["", "is required: what the agent is to go on with"],
      ['{"approved":false}', 'contradicts the status "accepted"'],
    ] as const) {
      await answer.fill(text);
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("status").getByText(said).waitFor();
    }
    await answer.fill('{"approved":true,"reason":"Grüße"}');
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("Approved.").waitFor();
    await page.getByText("Nina, signed with a passkey").waitFor();
    const visitor = await house.signIn();
    const { events } = (await visitor.get(`/api/agents/${MAYA}`)).body;
    const { operator, attestation } = events.at(-1).payload;
    expect(operator).toEqual({ id: "link:Nina", name: "Nina", via: "passkey" });
    const signed = readPasskeyAttestation(attestation);
    if (signed === undefined) throw new Error("the record has no attestation");
    const decided = { escalation_id: String(asked.body["escalation_id"]), decision: "accepted" };
    expect(passkeyFault(signed, decided)).toBeUndefined();
    await vi.waitFor(
      () =>
        expect([...server.runs.values()].map(({ answers }) => answers)).toEqual([
          [{ approved: true, reason: "Grüße" }],
        ]),
      PATIENCE,
    );
  });
});
