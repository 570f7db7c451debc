/** A morning at the console by the keyboard alone: no pointer is moved, and nothing is clicked. */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { ALMA, booking, under } from "../support/approving.ts";
import { describeInBrowser, openPage } from "../support/browser.ts";
import { askHouse, openHouse } from "../support/console-house.ts";

/** Nothing on a page is further away. */
const MOST_TABS = 80;

/** Goes on with Tab until an element has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.first().waitFor();
  for (let pressed = 0; pressed < MOST_TABS; pressed += 1) {
    const isThere = await wanted.first().evaluate((one) => one.matches(":focus"));
    if (isThere) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${wanted} is not reached by Tab`);
}

/** Presses what has the focus once it has been reached. */
async function press(page: Page, wanted: Locator): Promise<void> {
  await tabTo(page, wanted);
  await page.keyboard.press("Enter");
}

describeInBrowser("by the keyboard alone", () => {
  it("an operator signs in, approves a call with a reason, and verifies the agent's chain", async () => {
    const house = await openHouse();
    const call = booking("7", { body: { guest: "Ada" } });
    const asked = await askHouse(house, ALMA, call);
    const id = String(asked.body["escalation_id"]);
    const page = await openPage();
    await page.goto(await house.link({ name: "Nina" }));
    await press(page, page.getByRole("button", { name: "Sign in" }));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const menu = page.getByRole("navigation");
    await press(page, menu.getByRole("link", { name: "Approvals" }));
    await page.getByRole("heading", { level: 1, name: "Approvals" }).waitFor();
    const waiting = page.getByRole("region", { name: "Waiting" });
    await press(page, waiting.getByRole("link", { name: "BOOK" }));
    await page.waitForURL(`${house.origin}/approvals/${id}`);
    await tabTo(page, page.getByLabel("Reason"));
    await page.keyboard.type("she called");
    await press(page, page.getByRole("button", { name: "Approve" }));
    await page.getByRole("status").getByText("Approved.").waitFor();
    await page.getByText("she called").waitFor();
    expect((await askHouse(house, ALMA, under(id, call))).status).toBe(200);
    await press(page, menu.getByRole("link", { name: "Records" }));
    await page.getByRole("heading", { level: 1, name: "Records" }).waitFor();
    await press(page, page.getByRole("button", { name: "Pin key" }));
    await page.getByRole("list", { name: "Pinned keys" }).waitFor();
    await press(
      page,
      page.getByRole("region", { name: "Chains" }).getByRole("link", { name: "alma" }),
    );
    await press(page, page.getByRole("button", { name: "Verify chain" }));
    await page.getByText(/^Chain verified: \d+ records/).waitFor();
    expect(page.faults).toEqual([]);
  });
});
