/** Contracts that agents negotiated, and their withdrawal at the console. */
import { expect, it } from "vitest";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, openConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { AUDIT, NORA, negotiationFiles, OPT_IN, presenting } from "../support/negotiation.ts";

describeInBrowser("a contract", () => {
  it("is withdrawn for good, asked once more, with a reason that its chain has", async () => {
    const house = await openConsole(negotiationFiles(CONSOLE));
    const offered = await askHouse(house, NORA, { ...AUDIT, headers: OPT_IN });
    const id = String(offered.body["synthesis_id"]);
    const call = { ...AUDIT, headers: presenting(id) };
    expect((await askHouse(house, NORA, call)).status).toBe(200);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.getByRole("navigation").getByRole("link", { name: "Contracts" }).click();
    const row = page.getByRole("row").filter({ hasText: "AUDIT /reviews" });
    await row.getByLabel("Reason").fill("not needed");
    await row.getByRole("button", { name: "Withdraw" }).click();
    const question = page.getByRole("group", { name: "Withdraw the contract?" });
    // The focus is on the question, and the keyboard alone is enough.
    await question.locator("p:focus").waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    expect((await askHouse(house, NORA, call)).status).toBe(200);
    await row.getByRole("button", { name: "Withdraw" }).click();
    await question.getByRole("button", { name: "Withdraw" }).click();
    await page.getByRole("status").getByText("The contract is withdrawn.").waitFor();
    await page.getByText("No agent has negotiated a contract.").waitFor();
    expect((await askHouse(house, NORA, call)).status).toBeGreaterThanOrEqual(400);
    const visitor = await house.signIn();
    const { events } = (await visitor.get(`/api/agents/${NORA}`)).body;
    expect(JSON.stringify(events)).toContain("link:Nina");
    expect(page.faults).toEqual([]);
  });
});
