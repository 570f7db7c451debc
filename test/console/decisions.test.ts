/** What an operator decides at the console, in the browser, and what comes of it. */
import { expect, it, onTestFinished, vi } from "vitest";
import { EscalationRegister } from "../../src/state/registers/escalation-register.ts";
import { ALMA, BORIS, booking, ranIn, under } from "../support/approving.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { askHouse, look, shareHouse } from "../support/console-house.ts";

describeInBrowser("an operator at the console", () => {
  const opened = shareHouse();

  it("sees a call that waits, what is new about it, and approves it", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    for (const guest of ["Ada", "Grace"]) {
      const call = booking("7", { body: { guest } });
      const asked = await askHouse(house, ALMA, call);
      const id = String(asked.body["escalation_id"]);
      await page.getByRole("navigation").getByRole("link", { name: "Approvals" }).click();
      await page
        .getByRole("region", { name: "Waiting" })
        .getByRole("link", { name: "BOOK" })
        .click();
      await page.waitForURL(`${house.origin}/approvals/${id}`);
      await page.locator("dl.input").getByText(guest, { exact: true }).waitFor();
      if (guest === "Grace") {
        const differences = page.locator(".differences li");
        await differences.filter({ hasText: "/input/guest" }).waitFor();
        expect(await differences.count()).toBe(1);
        expect(await differences.locator("del").textContent()).toBe("Ada");
        expect(await differences.locator("ins").textContent()).toBe("Grace");
      } else await page.getByText("No call to this endpoint was approved before").waitFor();
      await page.getByLabel("Reason").fill("she called");
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("status").getByText("Approved.").waitFor();
      await page.getByText("she called").waitFor();
      // What was approved is this call and no other: its input, its path and its agent.
      const other = booking("7", { body: { guest: `${guest} and company` } });
      for (const [agent, altered] of [
        [ALMA, other],
        [ALMA, booking("8", { body: { guest } })],
        [BORIS, call],
      ] as const) {
        const refused = await askHouse(house, agent, under(id, altered));
        expect([refused.status, refused.body["error"]]).toMatchObject([
          409,
          { code: "approval-mismatch" },
        ]);
      }
      expect(ranIn(house)).not.toContain(`book 7 ${guest}`);
      expect((await askHouse(house, ALMA, under(id, call))).status).toBe(200);
    }
    expect(ranIn(house)).toEqual(["book 7 Ada", "book 7 Grace"]);
    expect(page.faults).toEqual([]);
  });

  it("rejects a call, which then does not run", async () => {
    const house = opened();
    const before = ranIn(house);
    const asked = await askHouse(house, ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByLabel("Reason").fill("fully booked");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("status").getByText("Rejected.").waitFor();
    expect((await askHouse(house, ALMA, under(id, booking("7")))).status).toBe(403);
    expect(ranIn(house)).toEqual(before);
  });

  it("sees for whom another agent makes a call", async () => {
    const house = opened();
    const { method, path, body: parameters } = booking("9");
    const task = { method, path, parameters };
    const asked = await askHouse(house, ALMA, {
      method: "DELEGATE",
      body: { target_agent_id: BORIS, authority_scope: ["booking:room"], task },
    });
    const [id] = /esc-[0-9a-f-]{36}/.exec(asked.text) ?? [];
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${id}`);
    const shown = page.locator("dd").filter({ has: page.locator(`a[href="/agents/${ALMA}"]`) });
    await page.getByText("On behalf of", { exact: true }).waitFor();
    expect(await shown.count()).toBe(1);
  });

  it("sees all that an agent asks, also where it writes that it is a call", async () => {
    const house = opened();
    const call = { method: "QUERY", path: "/free/7", input: { room: "7" } };
    const context = { question: "May I empty the safe?", call };
    const body = { task_id: "task-safe", reason: "scope_limit", context };
    const asked = await askHouse(house, ALMA, { method: "ESCALATE", body });
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${asked.body["result"]?.["escalation_id"]}`);
    await page.getByRole("heading", { name: "Decide" }).waitFor();
    expect(await page.getByText("May I empty the safe?").count()).toBe(1);
    expect(await page.getByRole("heading", { name: "QUERY /free/7" }).count()).toBe(0);
  });

  it("sees who has voted where several people decide", async () => {
    const opening = vi.spyOn(EscalationRegister.prototype, "open");
    onTestFinished(() => opening.mockRestore());
    const house = opened();
    const body = { task_id: "task-vote", reason: "scope_limit", context: "All of it?" };
    const asked = await askHouse(house, ALMA, { method: "ESCALATE", body });
    const id = String(asked.body["result"]?.["escalation_id"]);
    const register = opening.mock.contexts[0] as EscalationRegister;
    await register.noteVotes(id, [{ by: "operator:ann", action: "accept" }]);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByRole("heading", { name: "Votes" }).waitFor();
    await page.getByRole("listitem").filter({ hasText: "operator:ann: accept" }).waitFor();
  });

  it("suspends an agent, reinstates it and revokes it, asked once more each time", async () => {
    const house = opened();
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/agents/${BORIS}`);
    const steps = [
      ["Suspend", "boris is suspended.", 503],
      ["Reinstate", "boris is active again.", 200],
      ["Revoke", "boris is revoked.", 410],
    ] as const;
    for (const [name, said, status] of steps) {
      const { status: before } = await look(house, "7", BORIS);
      await page.getByLabel("Reason").fill(`an audit: ${name}`);
      await page.getByRole("button", { name }).click();
      const question = page.getByRole("group", { name: `${name} boris?` });
      await question.waitFor();
      expect((await look(house, "7", BORIS)).status).toBe(before);
      await question.getByRole("button", { name }).click();
      await page.getByRole("status").getByText(said).waitFor();
      expect((await look(house, "7", BORIS)).status).toBe(status);
      await page
        .getByRole("region", { name: "Lifecycle" })
        .getByText(`an audit: ${name}`)
        .waitFor();
    }
    await page.getByText("retired").first().waitFor();
    expect(await page.getByRole("button", { name: "Reinstate" }).count()).toBe(0);
  });

  it("shows what another operator has decided, and keeps what is typed until then", async () => {
    const house = opened();
    const asked = await askHouse(house, ALMA, booking("51"));
    const path = `/approvals/${asked.body["escalation_id"]}`;
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}${path}`);
    await page.getByLabel("Reason").fill("half a rea");
    const visitor = await house.signIn({ name: "Olaf" });
    await visitor.post(`/api${path}`, { decision: "deferred", reason: "not now" });
    await page.getByText("not now").waitFor();
    expect(await page.getByLabel("Reason").inputValue()).toBe("half a rea");
    await visitor.post(`/api${path}`, { decision: "rejected", reason: "fully booked" });
    await page.getByText("fully booked").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  });

  it("sees how long there is left to decide, as the time passes", async () => {
    const house = opened();
    const asked = await askHouse(house, ALMA, booking("6"));
    const page = await openPage();
    await page.clock.install();
    await signIn(page, await house.link({ name: "Nina" }));
    for (const path of ["/approvals", `/approvals/${asked.body["escalation_id"]}`]) {
      await page.goto(`${house.origin}${path}`);
      const left = page
        .getByRole("main")
        .getByText(/in \d+ [a-z]+( \d+ [a-z]+)?$/)
        .first();
      const before = await left.innerText();
      await page.clock.fastForward("02:00");
      await page.getByRole("main").getByText(before).waitFor({ state: "detached" });
    }
    await page.clock.fastForward(100 * 3_600_000);
    await page.goto(`${house.origin}/approvals`);
    await page.getByRole("region", { name: "Waiting" }).getByText("over").first().waitFor();
  });

  it("takes an approval back that was not used, once asked again", async () => {
    const house = opened();
    const call = booking("18", { body: { guest: "Ada" } });
    const id = String((await askHouse(house, ALMA, call)).body["escalation_id"]);
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("button", { name: "Take back" }).waitFor();
    await page.getByLabel("Reason").fill("the wrong room");
    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByText("Take this approval back?").waitFor();
    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByText("the wrong room").waitFor();
    expect(await page.getByRole("button", { name: "Take back" }).count()).toBe(0);
    const refused = await askHouse(house, ALMA, under(id, call));
    expect(refused.body).toMatchObject({ error: { code: "approval-rejected" } });
  });

  it("sees that an approval was used, and is good no longer", async () => {
    const house = opened();
    const call = booking("17", { body: { guest: "Ada" } });
    const id = String((await askHouse(house, ALMA, call)).body["escalation_id"]);
    const visitor = await house.signIn({ name: "Nina" });
    await visitor.post(`/api/approvals/${id}`, { decision: "accepted" });
    const page = await openPage();
    await signIn(page, await house.link({ name: "Nina" }));
    await page.goto(`${house.origin}/approvals/${id}`);
    await page.getByText("Good until", { exact: true }).waitFor();
    expect((await askHouse(house, ALMA, under(id, call))).status).toBe(200);
    await page.getByText("Used", { exact: true }).waitFor();
    expect(await page.getByText("Good until", { exact: true }).count()).toBe(0);
  });
});
