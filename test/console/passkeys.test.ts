/** A passkey in the browser: registered, signing an approval, removed; the authenticator is virtual. */
import { expect, it } from "vitest";
import { passkeyFault, readPasskeyAttestation } from "../../src/identity/passkey-attestation.ts";
import { ALMA, booking, ranIn, under } from "../support/approving.ts";
import { accessibilityFaults, describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { askHouse, shareHouse } from "../support/console-house.ts";
import { plugIn, register } from "../support/virtual-passkey.ts";

describeInBrowser("a passkey", () => {
  const opened = shareHouse();

  it("is registered, signs what its person approves, and is removed", async () => {
    const house = opened();
    const page = await openPage();
    const authenticator = await plugIn(page);
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/account`);
    await register(page, "desk key");
    expect(await authenticator.count()).toBe(1);
    expect(await accessibilityFaults(page)).toEqual([]);

    const asked = await askHouse(house, ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByLabel("Reason").fill("she called");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("Approved.").waitFor();
    await page.getByText("Nina, signed with a passkey").waitFor();
    expect((await askHouse(house, ALMA, under(id, booking("7")))).status).toBe(200);
    expect(ranIn(house)).toEqual(["book 7 Ada"]);
    const visitor = await house.signIn();
    const { events } = (await visitor.get(`/api/agents/${ALMA}`)).body;
    const { attestation, operator, call_digest } = events.at(-1).payload;
    expect(operator).toEqual({ id: "link:Nina", name: "Nina", via: "passkey" });
    const signed = readPasskeyAttestation(attestation);
    if (signed === undefined) throw new Error("the record has no attestation");
    const decided = { escalation_id: id, digest: call_digest, decision: "accepted" };
    expect(passkeyFault(signed, decided)).toBeUndefined();

    await page.goto(`${house.origin}/account`);
    await page.getByText("last used").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    const question = page.getByRole("group", { name: "Remove the passkey desk key?" });
    await question.getByRole("button", { name: "Remove" }).click();
    await page.getByText("With a passkey you sign what you approve").waitFor();
    expect(page.faults).toEqual([]);
  });

  it("is what its person approves with: without it, nothing is approved", async () => {
    const house = opened();
    const before = ranIn(house);
    const page = await openPage();
    const authenticator = await plugIn(page);
    await signIn(page, await house.link({ name: "Olaf" }));
    await page.goto(`${house.origin}/account`);
    await register(page, "desk key");
    await authenticator.clear();
    const asked = await askHouse(house, ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("Approve failed").waitFor();
    const answer = await askHouse(house, ALMA, under(id, booking("7")));
    expect([answer.status, ranIn(house)]).toEqual([262, before]);
    // To refuse is free.
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("status").getByText("Rejected.").waitFor();
  });

  it("is for the console's name, which the page says elsewhere", async () => {
    const house = opened();
    const page = await openPage();
    const link = await house.link({ name: "Nina" });
    const address = house.origin.replace("localhost", "127.0.0.1");
    await signIn(page, link.replace(house.origin, address));
    await page.goto(`${address}/account`);
    await page.getByText(`Passkeys are for ${house.origin}`).waitFor();
    expect(await page.getByRole("button", { name: "Register passkey" }).count()).toBe(0);
  });

  it("asks for the page to be loaded again where its part is of a console that was updated", async () => {
    const house = opened();
    const page = await openPage();
    await plugIn(page);
    await signIn(page, await house.link({ name: "Petra" }));
    await page.goto(`${house.origin}/account`);
    const library = "**/lib/webauthn/**";
    await page.route(library, (route) => route.fulfill({ status: 404 }));
    await page.getByLabel("Name of the passkey").fill("desk key");
    await page.getByRole("button", { name: "Register passkey" }).click();
    await page.getByRole("status").getByText("Load the page again.").waitFor();
    await page.unroute(library);
    await page.reload();
    await register(page, "desk key");
  });
});
