import { describe, expect, it } from "vitest";
import { openDelivery } from "../../../src/modules/delivery/module.ts";
import { ECHO_MODULE, endpointFile } from "../../support/deployment.ts";
import { openServer, type TestServer } from "../../support/dispatch.ts";
import { ALICE, BOB, CAROL, hostedFiles, UNKNOWN } from "../../support/hosted-agents.ts";

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
  const { notifications } = await kept.once(openDelivery);
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
