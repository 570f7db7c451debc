/** A real call from the page of an endpoint. */
import { expect, it } from "vitest";
import { ALMA, ranIn } from "../support/approving.ts";
import {
  accessibilityFaults,
  describeInBrowser,
  holdBack,
  openPage,
  signIn,
} from "../support/browser.ts";
import { HOSTILE, shareHouse } from "../support/console-house.ts";

const RESERVE = "/endpoints/RESERVE/rooms/%7Broom%7D";

describeInBrowser("Try", () => {
  const opened = shareHouse();

  it("sends the call, and shows answer, way through the gates and record", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}${RESERVE}`);
    const input = page.getByLabel("Input", { exact: true });
    await page.getByLabel("Agent").selectOption({ label: "alma" });
    await input.fill("no JSON");
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("alert").getByText("must be a JSON object").waitFor();
    await input.fill(JSON.stringify({ room: "7", guest: HOSTILE }));
    await page.getByRole("button", { name: "Try" }).click();
    const answer = page.getByRole("region", { name: "Answer", exact: true });
    await answer.getByText('"booked": "7"').waitFor();
    await answer.locator(".badge", { hasText: "200" }).waitFor();
    expect(await answer.locator(".gates .passed").count()).toBeGreaterThan(10);
    expect(ranIn(house)[0]?.startsWith("book 7 ")).toBe(true);
    const visitor = await house.signIn();
    const { head } = (await visitor.get(`/api/records/${ALMA}`)).body;
    await answer.getByText(head).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await page.evaluate("'hacked' in globalThis")).toBe(false);
    await answer.getByRole("link", { name: "In the traffic" }).click();
    await page.getByRole("heading", { level: 2, name: "RESERVE /rooms/7" }).waitFor();
    expect(page.faults).toEqual([]);
  });

  it("sends no number that the browser would make another one of", async () => {
    const house = opened();
    const before = ranIn(house).length;
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}${RESERVE}`);
    await page.getByLabel("Agent").selectOption({ label: "alma" });
    const input = page.getByLabel("Input", { exact: true });
    for (const number of ["12345678901234567890", "-1e999"]) {
      await input.fill(`{"room": "7", "guest": ${number}}`);
      await page.getByRole("button", { name: "Try" }).click();
      await page.getByRole("alert").getByText(`${number} cannot be kept to the digit`).waitFor();
    }
    await input.fill('{"room": "7", "guest": "\\"12345678901234567890"}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("region", { name: "Answer" }).getByText('"booked": "7"').waitFor();
    expect(ranIn(house).slice(before)).toEqual(['book 7 "12345678901234567890']);
  });

  it("leads from a call that waits to its approval, and back with it", async () => {
    const house = opened();
    const before = ranIn(house).length;
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/endpoints/BOOK/rooms/%7Broom%7D`);
    await page.getByLabel("Agent").selectOption({ label: "alma" });
    await page.getByLabel("Input", { exact: true }).fill('{"room": "9"}');
    await page.getByRole("button", { name: "Try" }).click();
    const answer = page.getByRole("region", { name: "Answer", exact: true });
    await answer.locator(".gates .refused", { hasText: "approval" }).waitFor();
    const link = answer.getByRole("link", { name: "A decision by an operator" });
    const [path = ""] = [await link.getAttribute("href")];
    const id = path?.split("/").at(-1) ?? "";
    expect(await page.getByLabel("Escalation-ID").inputValue()).toBe(id);
    const visitor = await house.signIn();
    await visitor.post(`/api/approvals/${id}`, { decision: "accepted" });
    await page.getByRole("button", { name: "Try" }).click();
    await answer.getByText('"booked": "9"').waitFor();
    expect(ranIn(house).slice(before)).toEqual(["book 9 "]);
  });

  it("keeps what is typed into Try while a call is under way", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/endpoints/RESERVE/rooms/%7Broom%7D`);
    const input = page.getByLabel("Input", { exact: true });
    await page.getByLabel("Agent").selectOption({ label: "alma" });
    await input.fill('{"room":"1"}');
    const letGo = await holdBack(page, "**/api/try/**");
    await page.getByRole("button", { name: "Try" }).click();
    await input.fill('{"room":"2"}');
    await page.getByLabel("Escalation-ID").fill("esc-mine");
    letGo();
    await page.getByRole("status").getByText("was answered 200").waitFor();
    expect(await input.inputValue()).toBe('{"room":"2"}');
    expect(await page.getByLabel("Escalation-ID").inputValue()).toBe("esc-mine");
  });
});
