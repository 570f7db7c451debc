/** A table of more rows than anybody reads: some are shown, and each can be found. */
import { expect, it } from "vitest";
import { approvedEndpoint, approvingFiles } from "../support/approving.ts";
import { accessibilityFaults, describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, openConsole } from "../support/console.ts";
import { agentFile, configFile, type DeploymentFiles } from "../support/deployment.ts";

const COUNT = 450;

function manyAgents(): DeploymentFiles {
  const numbers = Array.from({ length: COUNT }, (_, index) => String(index).padStart(3, "0"));
  return Object.fromEntries(
    numbers.map((number) => [
      `agents/a${number}.agent.json`,
      agentFile({ name: `Guest ${number}`, agent_id: `e${number}`.repeat(16) }),
    ]),
  );
}

describeInBrowser("a page of very many agents", () => {
  it("shows some, more of them on demand, and whom somebody looks for", async () => {
    const house = await openConsole({ ...manyAgents(), "agtp-server.toml": configFile(CONSOLE) });
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/agents`);
    const shown = (text: string) => page.getByRole("status").getByText(text, { exact: true });
    const rows = page.getByRole("region", { name: "Agents" }).locator("tbody tr");
    await shown("200 of 450 shown").waitFor();
    expect(await rows.count()).toBe(200);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel("Find").fill(" GUEST 44");
    await shown("10 of 10 shown").waitFor();
    await page.getByRole("link", { name: "Guest 449" }).waitFor();
    expect(await page.getByRole("button", { name: "Show" }).count()).toBe(0);
    await page.getByLabel("Find").fill("e123e123");
    await shown("1 of 1 shown").waitFor();
    await page.getByLabel("Find").fill("nobody");
    await shown("0 of 0 shown").waitFor();
    await page.getByLabel("Find").fill("");
    const more = page.getByRole("button", { name: "Show 200 more" });
    for (const count of [400, 450]) {
      await more.click();
      await shown(`${count} of 450 shown`).waitFor();
    }
    expect(await more.count()).toBe(0);
    await page.getByRole("link", { name: "Guest 449" }).click();
    await page.getByRole("heading", { level: 2, name: "Guest 449" }).waitFor();
    expect(page.faults).toEqual([]);
  });

  it("finds what is called by several values or by marks, as the page shows it", async () => {
    const files = await approvingFiles([], CONSOLE);
    const numbers = Array.from({ length: 201 }, (_, index) => String(index).padStart(3, "0"));
    const asked = numbers.map((number) => [
      `endpoints/room-${number}.toml`,
      approvedEndpoint({
        ...{ method: "QUERY", path: `/rooms/${number}`, description: `"Room" \u200b ${number}` },
        handler: { type: "registered_function", function: "handlers.look" },
      }),
    ]);
    const house = await openConsole({ ...files, ...Object.fromEntries(asked) });
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/endpoints`);
    const shown = (text: string) => page.getByRole("status").getByText(text, { exact: true });
    for (const [text, count] of [
      ["query /rooms/01", 10],
      ['"Room"', 200],
      ["\\u{200b} 20", 1],
      ["\u200b 100", 1],
    ] as const) {
      await page.getByLabel("Find").fill(text);
      await shown(`${count} of ${count === 200 ? 201 : count} shown`).waitFor();
    }
  });
});
