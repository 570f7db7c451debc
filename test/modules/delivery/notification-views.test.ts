import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { notificationSources } from "../../../src/modules/delivery/notification-views.ts";
import {
  accept,
  HOUR_MS,
  makeDraft,
  openDelivery,
  READER,
  SENDER,
  TestClock,
} from "../../support/delivery.ts";
import { makeLastingStore } from "../../support/state.ts";

async function setUp() {
  const clock = new TestClock();
  const delivery = await openDelivery({ store: makeLastingStore(), clock });
  const sources = notificationSources(delivery);
  const find = (name: string, agentId: string, isHosted = true) => {
    const document = isHosted ? ({} as AgentDocument) : undefined;
    const caller = { ...ANONYMOUS, agentId, document };
    const asker = { caller, peer: { address: "127.0.0.1", port: 1 } };
    return sources.find((source) => source.name === name)?.entries(asker);
  };
  return { clock, ...delivery, sources, find };
}

describe("what QUERY finds of notifications", () => {
  it("is in an agent's own inbox, the newest first, until it expires", async () => {
    const { clock, register, find } = await setUp();
    const sent = await accept(register, makeDraft(clock, { id: "n-1" }));
    await accept(register, makeDraft(clock, { id: "n-2", content: "the cat is back" }));
    const found = await find("inbox", READER);
    expect(found?.map(({ content }) => content["notification_id"])).toEqual(["n-2", "n-1"]);
    expect(found?.[1]).toEqual({
      id: sent.serial,
      texts: [
        { text: "the boat leaves at nine" },
        { agent_id: SENDER, name: "sender" },
        "informational",
      ],
      content: expect.objectContaining({ status: "unread", sender: expect.anything() }),
    });
    expect(await find("inbox", SENDER)).toEqual([]);
    await clock.advance(HOUR_MS);
    expect(await find("inbox", READER)).toEqual([]);
  });

  it("is what an agent has sent, with what became of it", async () => {
    const { clock, register, find } = await setUp();
    await accept(register, makeDraft(clock, { id: "n-1" }));
    await clock.advance(HOUR_MS);
    const found = await find("notification", SENDER);
    expect(found?.map(({ texts, content }) => [texts[0], content["state"]])).toEqual([
      ["n-1", "expired"],
    ]);
    expect(await find("notification", READER)).toEqual([]);
  });

  it("is nothing to strangers, and never more than a hundred entries", async () => {
    const { clock, register, find } = await setUp();
    for (let n = 0; n < 120; n += 1) await accept(register, makeDraft(clock));
    for (const name of ["inbox", "notification"]) {
      const whose = name === "inbox" ? READER : SENDER;
      expect(await find(name, whose, false)).toEqual([]);
      expect(await find(name, whose)).toHaveLength(100);
    }
  });
});
