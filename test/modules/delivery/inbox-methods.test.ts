import { describe, expect, it } from "vitest";
import { ANONYMOUS, type Caller } from "../../../src/dispatch/caller/caller.ts";
import type { ExchangeView } from "../../../src/dispatch/routes/route.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { confirmableNotifications } from "../../../src/modules/delivery/inbox-methods.ts";
import { openDelivery as openKept } from "../../../src/modules/delivery/module.ts";
import { currentReceipt } from "../../../src/modules/delivery/notification-views.ts";
import { confirmMethod } from "../../../src/modules/tasks/confirm-escalation.ts";
import {
  accept,
  HOUR_MS,
  makeDraft,
  openDelivery,
  READER,
  SENDER,
  TestClock,
} from "../../support/delivery.ts";
import { ECHO_MODULE, endpointFile } from "../../support/deployment.ts";
import { openServer, type TestServer } from "../../support/dispatch.ts";
import { makeCall } from "../../support/handler-call.ts";
import { ALICE, BOB, CAROL, hostedFiles, UNKNOWN } from "../../support/hosted-agents.ts";
import { makeLastingStore } from "../../support/state.ts";

interface Inbox {
  readonly entries: readonly { readonly notification_id: string; readonly content: unknown }[];
  readonly unread: number;
  readonly next: string | null;
}

async function read(server: TestServer, body: object = {}, agentId = BOB): Promise<Inbox> {
  const request = { method: "QUERY", path: "/inbox", headers: { "Agent-ID": agentId }, body };
  return (await server.send(request)).body["result"] as unknown as Inbox;
}

async function fill(server: TestServer, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const body = { recipient: "bob", content: `this is ${id}`, notification_id: id };
    const headers = { "Agent-ID": ALICE };
    expect((await server.send({ method: "NOTIFY", headers, body })).status).toBe(200);
  }
}

const idsOf = ({ entries }: Inbox) => entries.map(({ notification_id: id }) => id);

async function acknowledge({ kept }: TestServer, id: string): Promise<void> {
  const { notifications } = await kept.once(openKept);
  const [entry] = notifications.inboxOf(BOB).filter(({ notification }) => notification.id === id);
  await notifications.confirm(entry?.notification.serial ?? "", BOB, { status: "accepted" });
}

describe("QUERY /inbox", () => {
  it("shows what is unread, the newest first, or all", async () => {
    const server = await openServer(hostedFiles());
    await fill(server, ["n-1", "n-2", "n-3"]);
    await acknowledge(server, "n-2");
    const unread = await read(server);
    expect([idsOf(unread), unread.unread, unread.next]).toEqual([["n-3", "n-1"], 2, null]);
    const all = await read(server, { status: "all" });
    expect(idsOf(all)).toEqual(["n-3", "n-2", "n-1"]);
    expect(all.entries[1]).toMatchObject({ status: "read", confirmation: "accepted" });
    expect(idsOf(await read(server, { status: "all" }, CAROL))).toEqual([]);
  });

  it("changes nothing by being asked", async () => {
    const server = await openServer(hostedFiles());
    await fill(server, ["n-1"]);
    expect(await read(server)).toEqual(await read(server));
  });

  it("goes through a long inbox page by page", async () => {
    const server = await openServer(hostedFiles());
    const ids = Array.from({ length: 7 }, (_, n) => `n-${n}`);
    await fill(server, ids);
    const seen: string[] = [];
    let after: string | null | undefined;
    do {
      const page: Inbox = await read(server, { limit: 3, ...(after ? { after } : {}) });
      expect(page.entries.length).toBeLessThanOrEqual(3);
      seen.push(...idsOf(page));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(ids.toReversed());
  });

  it.each([{ status: "read" }, { limit: 0 }, { limit: 101 }, { after: 7 }])(
    "answers 422 for %j",
    async (body) => {
      const server = await openServer(hostedFiles());
      const request = { method: "QUERY", path: "/inbox", headers: { "Agent-ID": BOB }, body };
      expect((await server.send(request)).status).toBe(422);
    },
  );

  it("is not there for strangers", async () => {
    const server = await openServer(hostedFiles({ unknown_agents: "accept" }));
    const anonymous = await server.send({ method: "QUERY", path: "/inbox" });
    expect(anonymous.body).toMatchObject({ type: "credentials-missing" });
    const headers = { "Agent-ID": UNKNOWN };
    const stranger = await server.send({ method: "QUERY", path: "/inbox", headers });
    expect(stranger.status).toBe(401);
  });

  it("gives way to an endpoint of the operator's", async () => {
    const files = {
      "handlers.mjs": ECHO_MODULE,
      "endpoints/inbox.toml": endpointFile({ method: "QUERY", path: "/inbox" }),
    };
    const server = await openServer(hostedFiles({}, {}, files));
    const headers = { "Agent-ID": BOB };
    const { body } = await server.send({ method: "QUERY", path: "/inbox", headers });
    expect(body["path"]).toBe("/inbox");
  });
});

const DOCUMENT = {} as AgentDocument;

async function setUp() {
  const clock = new TestClock();
  const delivery = await openDelivery({ store: makeLastingStore(), clock });
  const { register } = delivery;
  const { handler } = confirmMethod(() => [confirmableNotifications(register)]);
  const confirm = (
    input: Readonly<Record<string, unknown>>,
    caller: Partial<Caller> = { agentId: READER, document: DOCUMENT },
  ) => {
    const exchange = { caller: { ...ANONYMOUS, ...caller } } as unknown as ExchangeView;
    return handler(makeCall({ input }), exchange);
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

  it("is of the one with that delivery_id, whatever others are called", async () => {
    const { clock, register, sent, confirm, wordOf } = await setUp();
    const other = { sender: CAROL, senderName: "carol", id: sent.serial };
    await accept(register, makeDraft(clock, other));
    expect(await confirm({ target_id: sent.serial, status: "accepted" })).toMatchObject({
      status: 200,
    });
    expect(wordOf()).toBe("accepted");
    await clock.advance(HOUR_MS);
    const late = await confirm({ target_id: sent.serial, status: "rejected" });
    expect([late, wordOf()]).toMatchObject([{ status: 404 }, "accepted"]);
  });

  it("is for who got it alone", async () => {
    const { confirm, wordOf } = await setUp();
    const said = { target_id: "n-1", status: "accepted" };
    for (const caller of [
      { agentId: SENDER, document: DOCUMENT },
      { agentId: READER, document: undefined },
      {},
    ]) {
      expect(await confirm(said, caller)).toMatchObject({ status: 404 });
    }
    expect(await confirm({ ...said, target_id: "n-2" })).toMatchObject({ status: 404 });
    expect(wordOf()).toBeUndefined();
  });

  it("is too late once it has expired", async () => {
    const { clock, confirm } = await setUp();
    await clock.advance(HOUR_MS);
    expect(await confirm({ target_id: "n-1", status: "accepted" })).toMatchObject({ status: 404 });
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
