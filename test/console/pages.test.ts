/** Every page as a person meets it: heading, focus, contrast, a telephone's width, hostile text. */
import { expect, it } from "vitest";
import { ALMA, booking } from "../support/approving.ts";
import { accessibilityFaults, describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { askHouse, HOSTILE, look, MALLORY, openHouse } from "../support/console-house.ts";

const LISTS = [
  ...["Overview", "Traffic", "Approvals", "Agents", "Endpoints", "Contracts", "Records"],
  ...["Upstreams", "Nodes"],
];

describeInBrowser("the pages of the console", () => {
  it("are reached by the navigation, which moves the focus to the heading", async () => {
    const house = await openHouse();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    for (const name of LISTS) {
      await page.getByRole("navigation").getByRole("link", { name }).click();
      const heading = page.getByRole("heading", { level: 1, name, exact: true });
      await heading.waitFor();
      if (name !== "Overview") {
        await page.locator("h1:focus").waitFor();
      }
      expect(await page.title()).toBe(`${name} · agtpd console`);
    }
    await page.goto(`${house.origin}/account`);
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    expect(page.faults).toEqual([]);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(`${house.origin}/sign-in`);
    await page.goto(`${house.origin}/agents`);
    expect(page.url()).toBe(`${house.origin}/sign-in`);
  });

  it.each(["light", "dark"] as const)("can be read by everybody, %s", async (colorScheme) => {
    const house = await openHouse();
    const id = await hostileQuestion(house);
    const width = colorScheme === "dark" ? 360 : 1280;
    const page = await openPage({ colorScheme, viewport: { width, height: 800 } });
    await signIn(page, await house.link({ name: HOSTILE.slice(0, 100) }));
    const paths = [
      ...["/", "/traffic", "/approvals", `/approvals/${id}`, "/agents", `/agents/${MALLORY}`],
      ...["/endpoints", "/endpoints/BOOK/rooms/%7Broom%7D", "/contracts", "/records"],
      ...[`/records/${MALLORY}`, "/upstreams", "/nodes", "/account"],
    ];
    for (const path of paths) {
      await page.goto(`${house.origin}${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("Loading…").first().waitFor({ state: "detached" });
      expect(await accessibilityFaults(page), path).toEqual([]);
      const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      const isHacked = await page.evaluate("'hacked' in globalThis");
      expect([path, isWide, isHacked]).toEqual([path, false, false]);
      expect(await page.locator("main img, main script").count(), path).toBe(0);
    }
    expect(page.faults).toEqual([]);
  });

  it("show what a stranger wrote as it is, and write out what would turn it", async () => {
    const house = await openHouse();
    const id = await hostileQuestion(house);
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/approvals/${id}`);
    const shown = HOSTILE.replace("\u202e", "\\u{202e}");
    await page.locator("dl.input").getByText(shown).waitFor();
    await page.goto(`${house.origin}/agents`);
    await page.getByRole("link", { name: shown }).click();
    await page.getByRole("heading", { level: 2, name: shown }).waitFor();
  });

  it("say of an unknown id that there is none", async () => {
    const house = await openHouse();
    const page = await openPage();
    await signIn(page, await house.link());
    for (const path of ["/agents/nobody", "/approvals/esc-no", "/traffic/no"]) {
      await page.goto(`${house.origin}${path}`);
      await page.getByRole("alert").getByText("There is no such").waitFor();
    }
  });

  it("have no button that changes anything for a viewer", async () => {
    const house = await openHouse();
    const id = await hostileQuestion(house);
    const page = await openPage();
    await signIn(page, await house.link({ role: "viewer" }));
    const endpoint = "/endpoints/BOOK/rooms/%7Broom%7D";
    for (const path of [`/approvals/${id}`, `/agents/${ALMA}`, endpoint]) {
      await page.goto(`${house.origin}${path}`);
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      expect(await page.locator("main").getByRole("button").count(), path).toBe(0);
      expect(await page.getByLabel("Reason").count(), path).toBe(0);
    }
  });
});

/** A call of the hostile agent, with hostile input, that waits for an operator. */
async function hostileQuestion(house: Awaited<ReturnType<typeof openHouse>>): Promise<string> {
  await look(house, "1", MALLORY);
  const request = booking("7", { body: { guest: HOSTILE } });
  const reply = await askHouse(house, MALLORY, request);
  expect(reply.status).toBe(262);
  return String(reply.body["escalation_id"]);
}
