/** The traffic as it comes, and those of it that meet the filters. */
import { EventEmitter, once } from "node:events";
import { expect, it } from "vitest";
import { ALMA, BORIS } from "../support/approving.ts";
import { describeInBrowser, failRequests, openPage, signIn } from "../support/browser.ts";
import { askHouse, look, shareHouse } from "../support/console-house.ts";

describeInBrowser("the traffic", () => {
  const opened = shareHouse();

  it("comes as it happens, unless it is paused", async () => {
    const house = opened();
    await look(house, "1");
    const page = await openPage();
    await signIn(page, await house.link());
    await page.getByRole("navigation").getByRole("link", { name: "Traffic" }).click();
    const row = (room: string) => page.getByRole("link", { name: `QUERY /free/${room}` });
    await row("1").waitFor();
    await look(house, "2");
    await row("2").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await look(house, "3");
    await page.getByText("1 more since the pause").waitFor();
    expect(await row("3").count()).toBe(0);
    await page.getByRole("button", { name: "Resume" }).click();
    await row("3").waitFor();
    expect(page.faults).toEqual([]);
  });

  it("is filtered, and one request opens into its way through the gates", async () => {
    const house = opened();
    await look(house, "1");
    await look(house, "2", BORIS);
    await askHouse(house, ALMA, { method: "FROBNICATE", path: "/x" });
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic`);
    const links = page.getByRole("table").getByRole("link", { name: "/" });
    await page.getByLabel("Agent").fill("boris");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("1 shown").waitFor();
    expect(await links.textContent()).toBe("QUERY /free/2");
    // The filters stand in the address.
    expect(new URL(page.url()).search).toBe("?agent=boris");
    await look(house, "5", BORIS);
    await page.getByRole("link", { name: "QUERY /free/5" }).waitFor();
    await page.goto(`${house.origin}/traffic?gate=Method&method=frobnicate`);
    await page.getByRole("link", { name: "FROBNICATE /x" }).click();
    await page.getByText("refused: method-not-in-catalog").waitFor();
  });

  it("shows a request whole on a narrow screen", async () => {
    const house = opened();
    await askHouse(house, ALMA, { method: "FROBNICATE", path: "/narrow/room" });
    const page = await openPage({ viewport: { width: 320, height: 800 } });
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic`);
    const link = page.getByRole("link", { name: "FROBNICATE /narrow/room" });
    const { width, height, ...inner } = await link.evaluate((one) => ({
      ...{ width: one.clientWidth, height: one.clientHeight },
      ...{ innerWidth: one.scrollWidth, innerHeight: one.scrollHeight },
    }));
    expect(inner).toEqual({ innerWidth: width, innerHeight: height });
  });

  it("leaves a filter as it is being typed, whatever comes meanwhile", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic`);
    await page.getByRole("table").waitFor();
    await page.getByLabel("Path").pressSequentially("/fre");
    await look(house, "9");
    await page.getByRole("link", { name: "QUERY /free/9" }).waitFor();
    expect(await page.getByLabel("Path").inputValue()).toBe("/fre");
    await page.getByLabel("Path").pressSequentially("e/9");
    await page.keyboard.press("Enter");
    await page.getByText("1 shown").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("link", { name: "QUERY /free/" }).first().waitFor();
    expect(await page.getByLabel("Path").inputValue()).toBe("");
  });

  it.each([
    ["7", ""],
    ["8", "?agent=boris"],
  ])(
    "lacks nothing that came before its events began: room %s, filters %s",
    async (room, query) => {
      const house = opened();
      await look(house, "6", BORIS);
      const page = await openPage();
      const begin = new EventEmitter();
      const mayBegin = once(begin, "now");
      await page.route("**/api/events", async (route) => {
        await mayBegin;
        await route.continue();
      });
      await signIn(page, await house.link());
      await page.goto(`${house.origin}/traffic${query}`);
      await page.getByRole("link", { name: "QUERY /free/6" }).first().waitFor();
      await look(house, room, BORIS);
      begin.emit("now");
      await page.getByRole("link", { name: `QUERY /free/${room}` }).waitFor();
    },
  );

  it("shows all of the traffic again by the link of the page itself", async () => {
    const house = opened();
    await look(house, "1");
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic`);
    await page.getByLabel("Path").fill("/nowhere");
    await page.keyboard.press("Enter");
    await page.getByText("No request meets the filters.").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Traffic" }).click();
    await page.getByRole("link", { name: "QUERY /free/1" }).first().waitFor();
    expect(await page.getByLabel("Path").inputValue()).toBe("");
  });

  it("opens the request that has the focus, whatever comes above it", async () => {
    const house = opened();
    await look(house, "21");
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic`);
    await page.getByRole("link", { name: "QUERY /free/21" }).focus();
    await look(house, "22");
    await page.getByRole("link", { name: "QUERY /free/22" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "QUERY /free/21" }).waitFor();
  });

  it("stays where somebody reads in the traffic, whatever comes above it", async () => {
    const house = opened();
    const rooms = Array.from({ length: 60 }, (_, index) => index);
    await Promise.all(rooms.map((room) => look(house, `old-${room}`)));
    const page = await openPage({ viewport: { width: 1200, height: 600 } });
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/traffic?path=/free/old-`);
    await page.getByText("60 shown").waitFor();
    await page.locator(".list-body").evaluate((box) => {
      box.scrollTop = 38 * 44;
    });
    const read = page.locator(".list-body [role=row][aria-rowindex='42'] .c-request a");
    const row = await read.elementHandle();
    const [text, before] = [await row?.textContent(), await row?.boundingBox()];
    await look(house, "old-new");
    await page.getByText("61 shown").waitFor();
    expect([await row?.textContent(), await row?.boundingBox()]).toEqual([text, before]);
    await page.locator(".list-body").evaluate((box) => {
      box.scrollTop = 0;
    });
    await page.getByRole("link", { name: "QUERY /free/old-new" }).waitFor();
  });

  it("lists the traffic once it can be had, though the first answer did not come", async () => {
    const house = opened();
    await look(house, "1");
    const page = await openPage();
    await signIn(page, await house.link());
    const stop = await failRequests(page, /\/api\/traffic\?/);
    await page.goto(`${house.origin}/traffic`);
    await page.getByText("cannot be reached").waitFor();
    await stop();
    await look(house, "31");
    await page.getByRole("link", { name: "QUERY /free/31" }).waitFor();
    await page.getByRole("link", { name: "QUERY /free/1", exact: true }).first().waitFor();
  });

  it("filters since the same moment for whom the address is given in another time zone", async () => {
    const house = opened();
    const page = await openPage({ timezoneId: "Asia/Kathmandu" });
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/traffic`);
    await page.getByLabel("Since").fill("2020-01-01T05:45:30");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/since=2020-01-01T00%3A00%3A30/);
    const other = await openPage({ timezoneId: "America/New_York" });
    await signIn(other, await house.link({ name: "Otto" }));
    await other.goto(page.url());
    await other.getByText(/^\d+ shown/).waitFor();
    expect(await other.getByLabel("Since").inputValue()).toBe("2019-12-31T19:00:30");
  });
});
