/** Every page as a person meets it: heading, focus, contrast, a telephone's width, hostile text. */
import { beforeAll, expect, it } from "vitest";
import { ALMA, booking } from "../support/approving.ts";
import {
  accessibilityFaults,
  describeInBrowser,
  goWithin,
  openPage,
  signIn,
} from "../support/browser.ts";
import type { TestConsole } from "../support/console.ts";
import { askHouse, HOSTILE, look, MALLORY, shareHouse } from "../support/console-house.ts";

const LISTS = [
  ...["Overview", "Traffic", "Approvals", "Agents", "Endpoints", "Contracts", "Records"],
  ...["Upstreams", "Nodes"],
];

/** How people look at them: at night on a telephone, and by day at a desk. */
const LOOKS = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 360 },
] as const;

describeInBrowser("the pages of the console", () => {
  const opened = shareHouse();
  let id = "";
  beforeAll(async () => {
    id = await hostileQuestion(opened());
  });

  it("are reached by the navigation, which moves the focus to the heading", async () => {
    const house = opened();
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

  it("can be read by everybody, light and dark, at a desk and on a telephone", async () => {
    const house = opened();
    // A colour that is on its way to another is neither.
    const page = await openPage({ reducedMotion: "reduce" });
    await signIn(page, await house.link({ name: HOSTILE.slice(0, 100) }));
    const paths = [
      ...["/", "/traffic", "/approvals", `/approvals/${id}`, "/agents", `/agents/${MALLORY}`],
      ...["/endpoints", "/endpoints/BOOK/rooms/%7Broom%7D", "/contracts", "/records"],
      ...[`/records/${MALLORY}`, "/upstreams", "/nodes", "/account"],
    ];
    await goWithin(page, "/nodes");
    for (const path of paths) {
      await goWithin(page, path);
      for (const { colorScheme, width } of LOOKS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        expect(await accessibilityFaults(page), `${path} ${colorScheme}`).toEqual([]);
        const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
        const isHacked = await page.evaluate("'hacked' in globalThis");
        expect([path, isWide, isHacked]).toEqual([path, false, false]);
        expect(await page.locator("main img, main script").count(), path).toBe(0);
      }
    }
    expect(page.faults).toEqual([]);
  });

  it("show what a stranger wrote as it is, and write out what would turn it", async () => {
    const house = opened();
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
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link());
    const unknown = ["/agents/nobody", "/approvals/esc-no", "/traffic/no", "/records/nobody"];
    for (const path of [...unknown, "/endpoints/BOOK/nothing", "/nothing"]) {
      const answer = await page.goto(`${house.origin}${path}`);
      expect([path, answer?.status()]).toEqual([path, 404]);
      await page.getByRole("alert").getByText("There is no").waitFor();
    }
  });

  it("have no button that changes anything for a viewer", async () => {
    const house = opened();
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
async function hostileQuestion(house: TestConsole): Promise<string> {
  await look(house, "1", MALLORY);
  const request = booking("7", { body: { guest: HOSTILE } });
  const reply = await askHouse(house, MALLORY, request);
  expect(reply.status).toBe(262);
  return String(reply.body["escalation_id"]);
}
