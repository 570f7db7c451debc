import { describe, expect, it } from "vitest";
import { ANONYMOUS, type Caller } from "../../../src/dispatch/caller/caller.ts";
import type { ExchangeView } from "../../../src/dispatch/routes/route.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { notificationConfirmable } from "../../../src/modules/delivery/inbox-methods.ts";
import { currentReceipt } from "../../../src/modules/delivery/notification-views.ts";
import {
  accept,
  HOUR_MS,
  makeDraft,
  openDelivery,
  READER,
  SENDER,
  TestClock,
} from "../../support/delivery.ts";
import { makeCall } from "../../support/handler-call.ts";
import { makeLastingStore } from "../../support/state.ts";

const DOCUMENT = {} as AgentDocument;

async function setUp() {
  const clock = new TestClock();
  const delivery = await openDelivery({ store: makeLastingStore(), clock });
  const { register } = delivery;
  const confirmable = notificationConfirmable(register);
  const confirm = (
    input: Readonly<Record<string, unknown>>,
    caller: Partial<Caller> = { agentId: READER, document: DOCUMENT },
  ) => {
    const exchange = { caller: { ...ANONYMOUS, ...caller } } as unknown as ExchangeView;
    return confirmable.confirm(makeCall({ input }), exchange);
  };
  const sent = await accept(register, makeDraft(clock, { id: "n-1" }));
  const wordOf = () => register.entryOf(sent.serial, READER)?.confirmation?.status;
  return { clock, register, delivery, sent, confirm, wordOf };
}

// AGTP "CONFIRM"
describe("CONFIRM of a notification", () => {
  it("tells the sender, with a receipt for the reader", async () => {
    const { sent, delivery, confirm } = await setUp();
    const answer = await confirm({ target_id: "n-1", status: "accepted", reason: "thanks" });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        result: {
          target_id: "n-1",
          notification_id: "n-1",
          status: "accepted",
          attestation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          timestamp: "2026-06-01T00:00:00.000Z",
        },
      },
    });
    expect(currentReceipt(sent, delivery)["receipts"]).toMatchObject([
      { state: "delivered", confirmation: { status: "accepted", reason: "thanks" } },
    ]);
  });

  it("says the same again without doing it again", async () => {
    const { clock, confirm } = await setUp();
    const first = await confirm({ target_id: "n-1", status: "accepted" });
    await clock.advance(1000);
    expect(await confirm({ target_id: "n-1", status: "accepted" })).toEqual(first);
    expect(await confirm({ target_id: "n-1", status: "rejected" })).not.toEqual(first);
  });

  it.each([
    [{ status: "accepted" }, "accepted"],
    [{ status: "rejected" }, "rejected"],
    [{ status: "deferred" }, "deferred"],
    [{ decision: "confirmed" }, "accepted"],
    [{ decision: "approve" }, "accepted"],
    [{ status: "declined" }, "rejected"],
  ])("understands %j", async (words, expected) => {
    const { confirm, wordOf } = await setUp();
    await confirm({ attestation_target: "n-1", ...words });
    expect(wordOf()).toBe(expected);
  });

  it.each(["perhaps", "constructor", 7, undefined])(
    "answers 422 for the word %j",
    async (status) => {
      const { confirm, wordOf } = await setUp();
      expect(await confirm({ target_id: "n-1", status })).toMatchObject({ status: 422 });
      expect(wordOf()).toBeUndefined();
    },
  );

  it("is for who got it alone", async () => {
    const { confirm, wordOf } = await setUp();
    const said = { target_id: "n-1", status: "accepted" };
    for (const caller of [
      { agentId: SENDER, document: DOCUMENT },
      { agentId: READER, document: undefined },
      {},
    ]) {
      expect(await confirm(said, caller)).toBeUndefined();
    }
    expect(await confirm({ ...said, target_id: "n-2" })).toBeUndefined();
    expect(wordOf()).toBeUndefined();
  });

  it("is too late once it has expired", async () => {
    const { clock, confirm } = await setUp();
    await clock.advance(HOUR_MS);
    expect(await confirm({ target_id: "n-1", status: "accepted" })).toBeUndefined();
  });

  it("asks which one is meant where several senders have the id in common", async () => {
    const { clock, register, sent, confirm, wordOf } = await setUp();
    await accept(register, makeDraft(clock, { id: "n-1", sender: "c".repeat(64) }));
    const said = { target_id: "n-1", status: "accepted" };
    expect(await confirm(said)).toMatchObject({ status: 422 });
    expect(wordOf()).toBeUndefined();
    expect(await confirm({ ...said, target_id: sent.serial })).toMatchObject({ status: 200 });
    expect(wordOf()).toBe("accepted");
  });
});
