/** An operator in the middle of something, while things happen: nothing typed is lost, nothing shown is stale. */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { ALMA, booking } from "../support/approving.ts";
import { describeInBrowser, failRequests, goWithin, openPage, signIn } from "../support/browser.ts";
import { consoleOf, type TestConsole } from "../support/console.ts";
import { askHouse, houseFiles, look, shareHouse } from "../support/console-house.ts";
import { createDaemon } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";

/** A house that can be shut and opened again at the same address. */
async function openLasting() {
  const deployment = makeDeployment(await houseFiles(generateKeyPairSync("ed25519").privateKey));
  const open = async (): Promise<TestConsole> => consoleOf(await createDaemon(deployment));
  const first = await open();
  const written = readFileSync(deployment.configPath, "utf8");
  const [, section = ""] = written.split("[console]");
  const port = section.replace("port = 0", `port = ${new URL(first.origin).port}`);
  writeFileSync(deployment.configPath, written.replace(section, port));
  return { first, again: open };
}

describeInBrowser("meanwhile", () => {
  const opened = shareHouse();

  it("goes on with a daemon that was started anew, and says so while there is none", async () => {
    const { first, again } = await openLasting();
    for (const room of ["1", "2", "3"]) await look(first, room);
    const page = await openPage();
    await signIn(page, await first.link({ name: "Nina" }));
    await page.goto(`${first.origin}/traffic`);
    await page.getByRole("link", { name: "QUERY /free/3" }).waitFor();
    await first.close();
    await page.getByRole("status").getByText("Nothing is heard of the daemon.").waitFor();
    const second = await again();
    onTestFinished(() => second.close());
    expect(second.origin).toBe(first.origin);
    await look(second, "4");
    await page.getByRole("link", { name: "QUERY /free/4" }).waitFor();
    await look(second, "5");
    await page.getByText("2 shown").waitFor();
    expect(await page.getByText("Nothing is heard").count()).toBe(0);
  });

  it("logs nobody out who is still signed in, as somebody else by now", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    const other = await page.context().newPage();
    await signIn(other, await house.link({ name: "Olaf" }));
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${house.origin}/sign-in`);
    await page.goto(`${house.origin}/agents`);
    expect(page.url()).toBe(`${house.origin}/sign-in`);
  });

  it("says so where nobody can be logged out", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await failRequests(page, "**/sign-out");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("status").getByText("Log out failed").waitFor();
  });

  it("tells who is signed in by now, and lets nobody decide as somebody else", async () => {
    const house = opened();
    const asked = await askHouse(house, ALMA, booking("61"));
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${asked.body["escalation_id"]}`);
    await page.getByLabel("Reason").fill("she called");
    const other = await page.context().newPage();
    await signIn(other, await house.link({ name: "Olaf" }));
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Reject failed: You are signed in as Olaf, operator, by now.").waitFor();
    expect(await page.getByLabel("Reason").inputValue()).toBe("she called");
    // The same person's other session is as good.
    await signIn(other, await house.link({ name: "Nina" }));
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("status").getByText("Rejected.").waitFor();
  });

  it("asks for the page to be loaded again once the daemon is another version", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.route("**/api/session", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), version: "9.9.9" } });
    });
    await beHidden(page);
    await page.getByText("was started anew since this page was opened").waitFor();
    await page.unroute("**/api/session");
    await page.getByRole("button", { name: "Load the page again" }).click();
    await page.getByText("was started anew").waitFor({ state: "detached" });
  });

  it("shows a list whose answer takes longer than the next news of it", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    const given: string[] = [];
    page.on("requestfailed", (request) => given.push(request.url()));
    let asked = 0;
    await page.route("**/api/approvals", async (route) => {
      asked += 1;
      await askHouse(house, ALMA, booking(`slow-${asked}`));
      // A stream that begins has all be told what is new.
      await page.evaluate(`new Promise((resolve) => {
        const stream = new EventSource("/api/events");
        stream.addEventListener("approvals", () => resolve(stream.close()));
      })`);
      await route.continue();
    });
    await goWithin(page, "/approvals");
    await page.getByRole("link", { name: "BOOK /rooms/slow-1", exact: true }).waitFor();
    await page.getByRole("link", { name: "BOOK /rooms/slow-2", exact: true }).waitFor();
    await page.unrouteAll({ behavior: "wait" });
    expect(given.filter((url) => url.endsWith("/approvals"))).toEqual([]);
  });

  it("says no longer that the daemon cannot be reached once news of it come", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await goWithin(page, "/nodes");
    await failRequests(page, "**/api/overview");
    await goWithin(page, "/");
    await page.getByText("Open connections").waitFor();
    expect(await page.getByText("the daemon cannot be reached").count()).toBe(0);
  });

  it("has in its plots what came while nobody looked, and nothing where nothing is known", async () => {
    const house = opened();
    const page = await openPage();
    const now = Math.floor(Date.now() / 1000);
    let points: unknown[] = [-305, -300].map((at) => [now + at, 50, 0, 1, 1]);
    await page.route("**/api/history", (route) => route.fulfill({ json: { step_s: 5, points } }));
    await signIn(page, await house.link({ name: "Nina" }));
    const summary = page.getByText("Requests per second as a table");
    await summary.click();
    const table = page.getByRole("region", { name: "Requests per second as a table" });
    await table.getByRole("cell", { name: "10", exact: true }).first().waitFor();
    points = [...points, ...[-105, -100].map((at) => [now + at, 617, 0, 1, 1])];
    await beHidden(page);
    await table.getByRole("cell", { name: "123.4" }).first().waitFor();
    const rows = await table.getByRole("row").allInnerTexts();
    const requests = rows.toReversed().map((row) => row.split("\t")[1]);
    expect(requests.slice(0, 5)).toEqual(["10", "10", "–", "123.4", "123.4"]);
  });
});

/** A page that was out of sight begins to listen anew. */
async function beHidden(page: Page): Promise<void> {
  await page.evaluate(`{
    let hidden = true;
    Object.defineProperty(document, "hidden", { get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
    hidden = false;
    document.dispatchEvent(new Event("visibilitychange"));
  }`);
}
