/**
 * Pictures of the console on the sample, each below 150 kB. `npm run pictures` keeps them in
 * docs/pictures, with plots of a minute's work; otherwise they are made and thrown away.
 */
import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import type { TestConsole } from "../support/console.ts";
import { createDirectory } from "../support/directory.ts";
import { book, CONCIERGE, openPictured, work } from "../support/pictured-house.ts";

const KEPT = process.env["PICTURES"];
const MAX_BYTES = 150_000;
const SIZE = { width: 1280, height: 860 };

describeInBrowser("the pictures of the console", () => {
  it("show the sample at work, and are small", async () => {
    const folder = KEPT === undefined ? createDirectory() : resolve(KEPT);
    mkdirSync(folder, { recursive: true });
    const house = await openPictured();
    const visitor = await house.signIn({ name: "Nina" });
    const first = await book(house, 2);
    await visitor.post(`/api/approvals/${first}`, { decision: "accepted", reason: "as agreed" });
    await labour(house, KEPT === undefined ? 0 : 90);
    const waiting = await book(house, 4);
    const light = await openPage({ viewport: SIZE });
    await signIn(light, await house.link({ name: "Nina" }));
    const at = (path: string) => light.goto(`${house.origin}${path}`);
    const shoot = (page: Page, name: string) => picture(page, folder, name);
    await light.getByRole("heading", { name: "Answers by status" }).waitFor();
    await shoot(light, "overview");
    await at("/traffic");
    await light.getByRole("link", { name: "FROBNICATE" }).first().waitFor();
    await shoot(light, "traffic");
    await light.getByRole("link", { name: "FROBNICATE" }).first().click();
    await light.getByText("refused:").waitFor();
    await shoot(light, "gates");
    await at(`/approvals/${waiting}`);
    await light.getByRole("button", { name: "Approve" }).waitFor();
    await shoot(light, "approval");
    await at("/endpoints/RESERVE/rooms/%7Broom_type%7D");
    await light.getByLabel("Agent").selectOption({ label: "concierge" });
    await light.getByLabel("Input", { exact: true }).fill(TRIED);
    await light.getByRole("button", { name: "Try" }).click();
    await light.getByRole("region", { name: "Answer", exact: true }).waitFor();
    await shoot(light, "try");
    await at(`/records/${CONCIERGE}`);
    await light.getByRole("button", { name: "Pin key" }).click();
    await light.getByRole("button", { name: "Verify chain" }).click();
    await light.getByText(/^Chain verified/).waitFor();
    await shoot(light, "chain");
    await at(`/agents/${CONCIERGE}`);
    await light.getByRole("button", { name: "Suspend" }).waitFor();
    await shoot(light, "agent");
    await at("/upstreams");
    await light.getByRole("article").first().waitFor();
    await shoot(light, "upstreams");
    const dark = await openPage({ viewport: SIZE, colorScheme: "dark" });
    await signIn(dark, await house.link({ name: "Nina" }));
    await dark.getByRole("heading", { name: "Answers by status" }).waitFor();
    await shoot(dark, "overview-dark");
    const phone = await openPage({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
    await signIn(phone, await house.link({ name: "Nina" }));
    await phone.goto(`${house.origin}/approvals/${waiting}`);
    await phone.getByRole("button", { name: "Approve" }).waitFor();
    await shoot(phone, "telephone");
    expect([...light.faults, ...dark.faults, ...phone.faults]).toEqual([]);
  }, 300_000);
});

const TRIED = JSON.stringify(
  {
    ...{ room_type: "double", guest_name: "Grace Hopper", arrival: "2030-06-01" },
    ...{ departure: "2030-06-03", guests: 2 },
  },
  null,
  2,
);

/** Work that comes in waves, for as many seconds; once around without any. */
async function labour(house: TestConsole, seconds: number): Promise<void> {
  const end = Date.now() + seconds * 1000;
  let turn = 0;
  for (; turn < 24; turn += 1) await work(house, turn);
  while (Date.now() < end) {
    const wave = 1 + Math.sin((end - Date.now()) / 6_000);
    await work(house, turn);
    await pause(20 + 90 * wave);
    turn += 1;
  }
}

async function picture(page: Page, folder: string, name: string): Promise<void> {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  expect(statSync(path).size, name).toBeLessThan(MAX_BYTES);
}
