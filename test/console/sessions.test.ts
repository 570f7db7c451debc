/** Sessions in the browser: over after a while, after Log out, and of no use from elsewhere. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { ALMA, BORIS, booking, ranIn, under } from "../support/approving.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { askHouse, openHouse } from "../support/console-house.ts";

const MINUTE_MS = 60_000;

/** Has the daemon, which is in this process, think that time has passed. */
function pass(minutes: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * MINUTE_MS });
  onTestFinished(() => void vi.useRealTimers());
}

/** An address on this machine that is not the console's. */
async function openElsewhere(html: string): Promise<number> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

describeInBrowser("a session", () => {
  it("lasts as long as it is used, and is over once it was not", async () => {
    const house = await openHouse();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    const look = async (): Promise<void> => {
      await page.goto(`${house.origin}/agents`);
      await page.getByRole("heading", { level: 1 }).waitFor();
    };
    for (const _ of [1, 2]) {
      pass(479);
      await look();
      await page.getByRole("link", { name: "alma" }).waitFor();
    }
    // A page that is open says so with the next thing that it does, be it one of its own.
    await page.goto(`${house.origin}/account`);
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    pass(481);
    const isOver = page.waitForURL(`${house.origin}/sign-in`);
    const link = page.getByRole("navigation").getByRole("link", { name: "Agents" });
    await Promise.race([isOver, link.click()]);
    await isOver;
    await page.goto(`${house.origin}/agents`);
    expect(page.url()).toBe(`${house.origin}/sign-in`);
    // A new sign-in leads back to where the work was.
    await page.goto(await house.link({ name: "Nina" }));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${house.origin}/agents`);
    await page.getByRole("link", { name: "alma" }).waitFor();
  });

  it("that ends keeps for its person what was written, and for nobody else", async () => {
    const house = await openHouse();
    const page = await openPage();
    const reason = page.getByLabel("Reason");
    const enter = async (name: string): Promise<void> => {
      await page.goto(await house.link({ name }));
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.goto(`${house.origin}/agents/${BORIS}`);
      await reason.waitFor();
    };
    const suspend = async (): Promise<void> => {
      for (const asked of [page, page.getByRole("group")])
        await asked.getByRole("button", { name: "Suspend" }).click();
    };
    await enter("Nina");
    await reason.fill("nobody knows what it is for");
    pass(481);
    await suspend();
    await page.waitForURL(`${house.origin}/sign-in`);
    await enter("Nina");
    expect(await reason.inputValue()).toBe("nobody knows what it is for");
    await suspend();
    await page.getByRole("status").getByText("boris is suspended.").waitFor();
    await page.reload();
    await reason.waitFor();
    expect(await reason.inputValue()).toBe("");
    await reason.fill("on second thoughts");
    await enter("Otto");
    expect(await reason.inputValue()).toBe("");
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("second thoughts");
    await reason.fill("no wonder");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${house.origin}/sign-in`);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  it("that somebody took ends with the Log out of its person", async () => {
    const house = await openHouse();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    const thief = await openPage();
    await thief.context().addCookies(await page.context().cookies());
    await thief.goto(`${house.origin}/agents`);
    await thief.getByRole("link", { name: "alma" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${house.origin}/sign-in`);
    await thief.getByRole("navigation").getByRole("link", { name: "Endpoints" }).click();
    await thief.waitForURL(`${house.origin}/sign-in`);
    // Nor does the cookie of before open anything when it is brought again.
    await thief.goto(`${house.origin}/approvals`);
    expect(thief.url()).toBe(`${house.origin}/sign-in`);
  });

  it("is not begun by a link that was used, whoever follows it", async () => {
    const house = await openHouse();
    const link = await house.link({ name: "Nina" });
    const [early, page, late] = [await openPage(), await openPage(), await openPage()];
    await early.goto(link);
    await early.getByRole("button", { name: "Sign in" }).waitFor();
    await signIn(page, link);
    await early.getByRole("button", { name: "Sign in" }).click();
    await early.getByRole("alert").getByText("This link was used already").waitFor();
    await late.goto(link);
    await late.getByRole("alert").getByText("This link was used already").waitFor();
    expect(await late.getByRole("button").count()).toBe(0);
    for (const other of [early, late]) expect(await other.context().cookies()).toEqual([]);
  });

  it.each([
    ["another port of its host, to which its cookie goes", "localhost"],
    ["another host", "127.0.0.1"],
  ])("approves nothing from %s", async (_, host) => {
    const house = await openHouse();
    const asked = await askHouse(house, ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    const action = `${house.origin}/api/approvals/${id}`;
    const port = await openElsewhere(`<!doctype html><title>win</title>
      <form method="post" enctype="text/plain" action="${action}">
      <input name='{"decision":"accepted","reason":"' value='"}'><button>Win</button></form>`);
    await page.goto(`http://${host}:${port}/`);
    const heard = await page.evaluate(
      ([origin, address]) =>
        Promise.all(
          [
            fetch(`${address}`, {
              ...{ method: "POST", credentials: "include", mode: "no-cors" },
              body: '{"decision":"accepted"}',
            }),
            fetch(`${address}`, {
              ...{ method: "POST", credentials: "include", body: '{"decision":"accepted"}' },
              headers: { "content-type": "application/json", "x-csrf-token": "guess" },
            }),
            fetch(`${origin}/api/session`, { credentials: "include" }),
            fetch(`${origin}/sign-out`, { method: "POST", credentials: "include" }),
          ].map((one) =>
            one.then(
              (response) => response.type,
              () => "blocked",
            ),
          ),
        ),
      [house.origin, action],
    );
    expect(heard.map((one) => ["blocked", "opaque"].includes(one))).toEqual(heard.map(() => true));
    const answered = page.waitForResponse(action);
    await page.getByRole("button", { name: "Win" }).click();
    expect((await answered).status()).toBe(403);
    expect((await askHouse(house, ALMA, under(id, booking("7")))).status).toBe(262);
    expect(ranIn(house)).toEqual([]);
    // The session itself is as it was.
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
  });
});
