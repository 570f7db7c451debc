/** A morning at the console by the keyboard alone: no pointer is moved, and nothing is clicked. */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { ALMA, BORIS, booking, under } from "../support/approving.ts";
import { describeInBrowser, openPage } from "../support/browser.ts";
import { askHouse, shareHouse } from "../support/console-house.ts";

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

/** Waits until an element has the focus. */
async function focusOn(page: Page, wanted: Locator): Promise<void> {
  await wanted.first().and(page.locator(":focus")).waitFor();
}

describeInBrowser("by the keyboard alone", () => {
  const opened = shareHouse();

  it("an operator signs in, approves a call with a reason, and verifies the agent's chain", async () => {
    const house = opened();
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
    await focusOn(page, page.getByRole("heading", { name: "Decision", exact: true }));
    await press(page, page.getByRole("button", { name: "Dismiss" }));
    await focusOn(page, page.getByRole("heading", { level: 1 }));
    expect((await askHouse(house, ALMA, under(id, call))).status).toBe(200);
    await press(page, menu.getByRole("link", { name: "Records" }));
    await page.getByRole("heading", { level: 1, name: "Records" }).waitFor();
    await press(page, page.getByRole("button", { name: "Pin key" }));
    await page.getByRole("list", { name: "Pinned keys" }).waitFor();
    await focusOn(page, page.getByRole("heading", { name: "Keys", exact: true }));
    await press(
      page,
      page.getByRole("region", { name: "Chains" }).getByRole("link", { name: "alma" }),
    );
    await press(page, page.getByRole("button", { name: "Verify chain" }));
    await page.getByText(/^Chain verified: \d+ records/).waitFor();
    expect(page.faults).toEqual([]);
  });

  it("an operator has the focus where the work goes on, whichever button was used up", async () => {
    const house = opened();
    const question = await askHouse(house, ALMA, booking("8", { body: { guest: "Bo" } }));
    const page = await openPage();
    await page.goto(await house.link({ name: "Nina" }));
    await press(page, page.getByRole("button", { name: "Sign in" }));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const to = async (path: string): Promise<void> => {
      await page.goto(`${house.origin}${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
    };
    await to(`/approvals/${question.body["escalation_id"]}`);
    await press(page, page.getByRole("button", { name: "Defer" }));
    await page.getByRole("status").getByText("Deferred.").waitFor();
    await page.getByRole("heading", { name: "Decision", exact: true }).waitFor();
    await focusOn(page, page.getByRole("button", { name: "Defer" }));
    await press(page, page.getByRole("button", { name: "Reject" }));
    await page.getByRole("status").getByText("Rejected.").waitFor();
    await focusOn(page, page.getByRole("heading", { name: "Decision", exact: true }));

    await to(`/agents/${BORIS}`);
    const cancelled = page.getByRole("button", { name: "Suspend" });
    await press(page, cancelled);
    const asked = page.getByRole("group", { name: "Suspend boris?" });
    await focusOn(page, asked.locator("p"));
    await press(page, asked.getByRole("button", { name: "Cancel" }));
    await focusOn(page, cancelled);
    await page.keyboard.press("Enter");
    await focusOn(page, asked.locator("p"));
    await page.keyboard.press("Escape");
    await focusOn(page, cancelled);
    // Also from the reason, which is written beside the question.
    await page.keyboard.press("Enter");
    await focusOn(page, asked.locator("p"));
    await page.keyboard.press("Shift+Tab");
    await focusOn(page, page.getByLabel("Reason"));
    await page.keyboard.press("Escape");
    await focusOn(page, cancelled);
    for (const [name, next] of [
      ["Suspend", "Change the standing"],
      ["Reinstate", "Change the standing"],
      ["Revoke", "Agents"],
    ] as const) {
      await press(page, page.getByRole("button", { name }));
      if (name === "Revoke") {
        await page.getByRole("alert").getByText("Revoke needs a reason.").waitFor();
        await focusOn(page, page.getByLabel("Reason"));
        await page.keyboard.type("it is sold");
        await press(page, page.getByRole("button", { name }));
      }
      await press(page, page.getByRole("group").getByRole("button", { name }));
      await page.getByRole("button", { name }).waitFor({ state: "detached" });
      await focusOn(page, page.getByRole("heading", { name: next }));
    }

    await to(`/records/${ALMA}`);
    await press(page, page.getByRole("button", { name: "Pin key" }));
    const verify = page.getByRole("button", { name: "Verify chain" });
    await focusOn(page, verify);
    await page.keyboard.press("Enter");
    await page.getByText(/^Chain verified: \d+ records/).waitFor();
    await focusOn(page, verify);
    await to("/account");
    await press(page, page.getByRole("button", { name: "Remove pin" }));
    await focusOn(page, page.getByRole("heading", { name: "Keys", exact: true }));

    await to("/traffic?method=QUERY");
    await press(page, page.getByRole("button", { name: "Clear" }));
    await focusOn(page, page.getByLabel("Agent"));
    // What goes while nobody has the focus in it takes it nowhere.
    await page.getByRole("heading", { level: 1 }).click();
    await page.evaluate("document.activeElement.blur()");
    await press(page, page.getByRole("button", { name: "Log out" }));
    await page.waitForURL(`${house.origin}/sign-in`);
    expect(page.faults).toEqual([]);
  });
});
