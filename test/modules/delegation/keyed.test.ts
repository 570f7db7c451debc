/** DELEGATE under an Idempotency-Key: a task of which nothing was done is asked for again by the same key. */
import { describe, expect, it } from "vitest";
import { approvingFiles, decide, OLGA, ranIn, under } from "../../support/approving.ts";
import { refusalOf } from "../../support/delegation.ts";
import { openServer, type TestReply, type TestRequest } from "../../support/dispatch.ts";
import { askAs } from "../../support/waiting.ts";

const ROOM_7 = { method: "BOOK", path: "/rooms/7", parameters: { guest: "Ada" } };
const ROOM_8 = { ...ROOM_7, path: "/rooms/8" };
const FREE = { method: "QUERY", path: "/free/7" };

/** Olga has Boris do a task. */
function handOn(task: unknown, key = "k-1"): TestRequest {
  const body = { target_agent_id: "boris", task, authority_scope: ["booking:room"] };
  return { method: "DELEGATE", headers: { "Idempotency-Key": key }, body };
}

function escalationIn({ text }: TestReply): string {
  return /esc-[0-9a-f-]{36}/.exec(text)?.[0] ?? "";
}

describe("DELEGATE under an Idempotency-Key", () => {
  it.each([
    ["by itself", ROOM_7],
    ["as an action", { method: "EXECUTE", parameters: { action: "BOOK /rooms/7", ...ROOM_7 } }],
    ["first of several", [ROOM_7, FREE]],
  ])("has its task done once it was approved: %s", async (_, task) => {
    const server = await openServer(await approvingFiles());
    const asked = await askAs(server, OLGA, handOn(task));
    expect(refusalOf(asked)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    const id = escalationIn(asked);
    expect((await decide(server, id, "accepted")).status).toBe(200);
    const done = await askAs(server, OLGA, under(id, handOn(task)));
    expect(done.status).toBe(200);
    const again = await askAs(server, OLGA, under(id, handOn(task)));
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(ranIn(server).filter((line) => line.startsWith("book"))).toEqual(["book 7 Ada"]);
  });

  it("does nothing again of a task whose later call waits for an approval", async () => {
    const server = await openServer(await approvingFiles());
    const task = [{ ...ROOM_7, method: "RESERVE" }, ROOM_8];
    const asked = await askAs(server, OLGA, handOn(task));
    expect(asked.body["sub_agent"]).toMatchObject({ step: 1, status: 262 });
    const id = escalationIn(asked);
    expect((await decide(server, id, "accepted")).status).toBe(200);
    const again = await askAs(server, OLGA, under(id, handOn(task)));
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([550, "true"]);
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });

  it("keeps the answer of a task that failed after it had begun", async () => {
    const server = await openServer(await approvingFiles());
    const task = { ...ROOM_7, path: "/full/7" };
    const id = escalationIn(await askAs(server, OLGA, handOn(task)));
    expect((await decide(server, id, "accepted")).status).toBe(200);
    const request = under(id, handOn(task));
    const first = await askAs(server, OLGA, request);
    expect(first.body["sub_agent"]).toMatchObject({ status: 422 });
    const again = await askAs(server, OLGA, request);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([550, "true"]);
    expect(ranIn(server)).toEqual(["fail 7"]);
  });
});
