/**
 * A state file that the release before collections wrote, register by register. The fixture has its
 * entries as that release left them.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ClientCertificate } from "../../src/identity/client-certificate.ts";
import { SeenTokens } from "../../src/modules/delegation/token.ts";
import { NotificationRegister } from "../../src/modules/delivery/notification-register.ts";
import { WebhookOutbox } from "../../src/modules/delivery/webhook-outbox.ts";
import { openState } from "../../src/state/state.ts";
import { openServer, type TestServer } from "../support/dispatch.ts";
import { buildStateFile, readFixture } from "../support/earlier-state.ts";
import { NORA, negotiationFiles, OTTO } from "../support/negotiation.ts";
import { openTestStore } from "../support/store.ts";
import { askAs, callIn, callWithin, refusalOf, resumption } from "../support/waiting.ts";

const FIXTURE = readFixture("state-of-schema-1.json");
/** It was shown to the agent that suspended the session. */
const NONCE = "tYG8sBNeKSNeYCqmPOf_BoCx5HNtZX0ulFYOmfrx_KU";

async function openEarlier(): Promise<TestServer> {
  const store = await openTestStore("sqlite", buildStateFile(FIXTURE, 1));
  const onFault = (error: unknown): never => {
    throw error;
  };
  const state = await openState({ store, journalDirectory: undefined, onFault });
  const identity = { inspect_acl: "public" };
  return openServer(negotiationFiles({ policies: { identity } }), { state });
}

/** What is stored of a collection, in the order of its keys. */
function stored(collection: string): readonly unknown[] {
  return FIXTURE.rows.filter(([name]) => name === collection).map(([, , value]) => value);
}

describe("the state of the release before", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: FIXTURE.madeAt + 60_000 });
  });
  afterEach(() => void vi.useRealTimers());

  it("has its contracts: the one that holds is called, the other one's end is known", async () => {
    const server = await openEarlier();
    const request = { method: "EVALUATE", path: "/verdicts", body: { subject: "barn" } };
    const reply = await askAs(server, NORA, request);
    expect([reply.status, reply.body["verdict"]]).toEqual([200, "2 facts"]);
    const over = { ...request, path: "/rulings" };
    expect((await askAs(server, NORA, over)).status).not.toBe(200);
    const list = await askAs(server, NORA, { method: "DISCOVER", path: "/contracts" });
    expect(list.body).toMatchObject([{ path: "/verdicts" }]);
  });

  it("has its escalations: one waits, the other was decided", async () => {
    const server = await openEarlier();
    expect(refusalOf(await askAs(server, NORA, callIn("t-1")))).toEqual([409, "task-paused"]);
    expect((await askAs(server, NORA, callIn("t-2"))).status).toBe(200);
  });

  it("has its suspended session, with the checkpoint and the nonce", async () => {
    const server = await openEarlier();
    expect(refusalOf(await askAs(server, NORA, callWithin("s-1")))).toEqual([
      409,
      "session-suspended",
    ]);
    const resumed = await askAs(server, NORA, resumption(NONCE));
    expect([resumed.status, resumed.body["result"]?.["checkpoint"]]).toEqual([200, { step: 3 }]);
    expect((await askAs(server, NORA, resumption(NONCE))).status).not.toBe(200);
  });

  it("answers what was asked under an Idempotency-Key as it was answered then", async () => {
    const server = await openEarlier();
    const headers = { "Idempotency-Key": "order-1" };
    const request = { method: "CREATE", path: "/orders", headers };
    const again = await askAs(server, NORA, { ...request, body: { item: "sail" } });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    const other = await askAs(server, NORA, { ...request, body: { item: "rope" } });
    expect(other.status).not.toBe(200);
  });

  it("has its notifications, what was said of them, and its outbox", async () => {
    const server = await openEarlier();
    const { store } = server.state;
    const webhooks = await WebhookOutbox.open({ store });
    const notifications = await NotificationRegister.open({ store, outbox: webhooks });
    const inbox = notifications.inboxOf(OTTO);
    expect(inbox.map(({ notification }) => notification.id)).toEqual(["n-2", "n-1"]);
    expect(inbox.map(({ confirmation }) => confirmation?.status)).toEqual([undefined, "accepted"]);
    const serial = inbox[0]?.notification.serial ?? "";
    expect(await notifications.contentOf(serial)).toEqual({ text: "at ten" });
    expect(notifications.find(NORA, "n-1")).toBeDefined();
    expect(webhooks.find("news-1")).toMatchObject({
      ...{ state: "queued", url: "https://desk.example/hook" },
    });
    expect(await webhooks.bodyOf("news-1")).toEqual({ n: 1 });
  });

  it("has its agents where they stood, with their events", async () => {
    const server = await openEarlier();
    const reply = await askAs(server, OTTO, callIn("t-9"));
    expect(reply.status).toBe(503);
    const events = await server.state.lifecycle.events(OTTO, 10);
    const written = stored("lifecycle-events").map((one) => (one as { audit_id: string }).audit_id);
    expect(events.length).toBeGreaterThan(0);
    expect(written).toEqual(expect.arrayContaining(events.map(({ auditId }) => auditId)));
  });

  it("has its tokens, its revoked certificates and its secrets", async () => {
    const server = await openEarlier();
    const { store, certificates } = server.state;
    const seenTokens = await SeenTokens.open(store, Date.now);
    const until = FIXTURE.madeAt + 3_600_000;
    expect(await seenTokens.take("home.example", "token-1", until)).toBe("seen");
    expect(await seenTokens.take("home.example", "token-2", until)).toBe("fresh");
    const revoked = { serialNumber: "1f" } as ClientCertificate;
    expect([certificates.isRevoked(revoked, NORA), certificates.isRevoked(revoked, OTTO)]).toEqual([
      true,
      false,
    ]);
    const secrets = await store.list("openwop-secrets");
    expect(secrets.map(({ value }) => value)).toEqual(stored("openwop-secrets"));
  });
});
