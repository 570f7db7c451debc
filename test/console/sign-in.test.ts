/** People who sign in at an OpenID provider, in the browser, and what becomes of their sessions. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approvingFiles } from "../support/approving.ts";
import {
  accessibilityFaults,
  describeInBrowser,
  goWithin,
  openPage,
  signIn,
} from "../support/browser.ts";
import { consoleOf, type TestConsole } from "../support/console.ts";
import { createDaemon } from "../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../support/deployment.ts";
import { HARM, HARMLESS } from "../support/hostile-text.ts";
import {
  HOSTILE_NAME,
  signInThere,
  startOpenId,
  type TestOpenId,
} from "../support/openid-provider.ts";

const ABROAD = { ignoreHTTPSErrors: true };

function filesOf(openId: TestOpenId, changes: object = {}) {
  const oidc = { ...openId.section, ...changes };
  return approvingFiles([], { console: { enabled: true, port: 0, oidc } });
}

/** The console's own; the provider of the tests is on the same host. */
async function cookiesOf(page: Page) {
  const cookies = await page.context().cookies();
  return cookies.filter(({ name }) => name.startsWith("agtpd"));
}

describeInBrowser("the sign-in page", () => {
  let openId: TestOpenId;
  let deployment: TestDeployment;
  let house: TestConsole;
  beforeAll(async () => {
    openId = await startOpenId();
    deployment = createDeployment({ ...(await filesOf(openId)), "login-ca.pem": openId.ca });
    house = consoleOf(await createDaemon(deployment));
    openId.serve(house.origin);
  });
  afterAll(async () => {
    await house.close();
    await openId.close();
    deployment.remove();
  });

  it("sends people to their provider, whose groups say what they may do", async () => {
    for (const [name, role] of [
      ["nina", "operator"],
      ["otto", "viewer"],
    ] as const) {
      const page = await openPage(ABROAD);
      await page.goto(`${house.origin}/agents`);
      expect(await accessibilityFaults(page)).toEqual([]);
      const host = new URL(openId.issuer).host;
      await page.getByRole("button", { name: `Sign in with ${host}` }).click();
      await signInThere(page, name);
      // They are where they wanted to be before they were asked who they are.
      await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
      await page.getByRole("banner").getByText(`The one called ${name}`).waitFor();
      await page.getByRole("banner").getByText(role, { exact: true }).waitFor();
      expect(new URL(page.url()).origin).toBe(house.origin);
      expect(page.url()).not.toContain("code=");
      const cookies = await cookiesOf(page);
      expect(cookies.map((one) => [one.name, one.sameSite, one.httpOnly])).toEqual([
        [expect.stringMatching(/^agtpd_console_[0-9a-f]{8}$/), "Strict", true],
      ]);
    }
    expect(house.log.filter(({ event }) => event === "console-signed-in")).toMatchObject([
      { person: `${openId.issuer}#nina`, role: "operator", via: "oidc" },
      { person: `${openId.issuer}#otto`, role: "viewer", via: "oidc" },
    ]);
  });

  it("takes what a provider says of a person for text", async () => {
    const page = await openPage(ABROAD);
    await page.goto(`${house.origin}/sign-in`);
    await page.getByRole("button", { name: "Sign in with" }).click();
    await signInThere(page, HOSTILE_NAME);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const shown = `The one called <img src=x onerror="window.hacked=1">\\u{202e}\\u{200b}\\u{ad}\\u{e0041}'"&`;
    await page.getByRole("banner").getByText(shown, { exact: true }).waitFor();
    await goWithin(page, "/account");
    await page.getByRole("main").getByText(shown, { exact: true }).waitFor();
    expect(await page.evaluate(HARM)).toEqual(HARMLESS);
    // So it is with the name of a link, on the page that asks before it is used.
    const plain = await openPage();
    await plain.goto(await house.link({ name: HOSTILE_NAME }));
    await plain.getByText(`As ${shown.slice("The one called ".length)}, operator.`).waitFor();
    expect(await plain.evaluate(HARM)).toEqual(HARMLESS);
    // The provider's own pages are not ours to judge.
    const own = page.faults.filter((one) => one.includes(house.origin));
    expect([...own, ...plain.faults]).toEqual([]);
  });

  it("says to somebody who is in no list that this is so", async () => {
    const page = await openPage(ABROAD);
    await page.goto(`${house.origin}/sign-in`);
    await page.getByRole("button", { name: "Sign in with" }).click();
    await signInThere(page, "mallory");
    await page.getByRole("alert").getByText("You are in no list of people").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await cookiesOf(page)).toEqual([]);
    expect(house.log.find(({ event }) => event === "console-sign-in-refused")).toMatchObject({
      ...{ kind: "no-role", person: `${openId.issuer}#mallory` },
    });
    await page.getByRole("link", { name: "Back to the sign-in page" }).click();
    await page.getByRole("button", { name: "Sign in with" }).waitFor();
  });

  it("comes again once a reload has taken the role away", async () => {
    const page = await openPage(ABROAD);
    await page.goto(`${house.origin}/sign-in`);
    await page.getByRole("button", { name: "Sign in with" }).click();
    await signInThere(page, "nina");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const other = await openPage();
    await signIn(other, await house.link({ name: "Linda" }));
    const reload = async (changes: object): Promise<void> => {
      const { "agtp-server.toml": config } = await filesOf(openId, changes);
      writeFileSync(join(house.directory, "agtp-server.toml"), String(config));
      expect(await house.daemon.reload()).toEqual([]);
    };
    await reload({ viewers: ["watchmen", "others"] });
    await page.goto(`${house.origin}/agents`);
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    await reload({ operators: ["directors"] });
    await page.goto(`${house.origin}/agents`);
    await page.waitForURL(`${house.origin}/sign-in`);
    // It is over, whatever the lists say later; a link's session is nobody's of the lists.
    await reload({});
    await page.goto(`${house.origin}/agents`);
    await page.waitForURL(`${house.origin}/sign-in`);
    await other.goto(`${house.origin}/agents`);
    await other.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  });
});
