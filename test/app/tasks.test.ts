/** What waits on a daemon: over TLS, through reloads, and through kill -9. */
import { describe, expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { openDaemon, type RawClient } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { NORA, negotiationFiles, OPAL } from "../support/negotiation.ts";
import {
  callIn,
  callWithin,
  confirmation,
  escalation,
  refusalOf,
  resultOf,
  resumption,
  suspension,
} from "../support/waiting.ts";

const asked = new WeakMap<RawClient, number>();

/** The next reply on a connection. */
async function askOn(client: RawClient, agentId: string, request: TestRequest): Promise<TestReply> {
  const count = (asked.get(client) ?? 0) + 1;
  asked.set(client, count);
  client.write(encodeRequest({ ...request, headers: { "Agent-ID": agentId, ...request.headers } }));
  const reply = (await client.replies(count))[count - 1];
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

// AGTP "ESCALATE", "CONFIRM"
describe("an escalation of a daemon that is killed", () => {
  it("keeps its task waiting, and is answered after the restart", async () => {
    const deployment = makeDeployment(negotiationFiles());
    const first = await startProgram(deployment.configPath);
    const before = await first.connect();
    const id = resultOf(await askOn(before, NORA, escalation("t-1")), "escalation_id");
    first.child.kill("SIGKILL");
    await first.outcome;

    const second = await startProgram(deployment.configPath);
    const after = await second.connect();
    expect(refusalOf(await askOn(after, NORA, callIn("t-1")))).toEqual([409, "task-paused"]);
    const again = await askOn(after, NORA, escalation("t-1"));
    expect(resultOf(again, "escalation_id")).toBe(id);
    const receipt = await askOn(after, OPAL, confirmation(id, "accepted", { reason: "go on" }));
    expect(receipt.status).toBe(200);
    second.child.kill("SIGKILL");
    await second.outcome;

    const third = await startProgram(deployment.configPath);
    const last = await third.connect();
    expect((await askOn(last, NORA, callIn("t-1"))).status).toBe(200);
    const poll = { method: "QUERY", path: `/escalations/${id}` };
    const read = await askOn(last, NORA, poll);
    expect(read.body["result"]).toMatchObject({
      status: "accepted",
      decision: { reason: "go on" },
    });
    const repeated = await askOn(last, OPAL, confirmation(id, "accepted"));
    expect(resultOf(repeated, "attestation_id")).toBe(resultOf(receipt, "attestation_id"));
    third.child.kill("SIGKILL");
  });
});

// AGTP "SUSPEND"
describe("a suspended session of a daemon that is killed", () => {
  it("stays its agent's, and its nonce works once, whatever is killed between", async () => {
    const deployment = makeDeployment(negotiationFiles());
    const first = await startProgram(deployment.configPath);
    const before = await first.connect();
    const nonce = resultOf(await askOn(before, NORA, suspension("s-1")), "resumption_nonce");
    first.child.kill("SIGKILL");
    await first.outcome;

    const second = await startProgram(deployment.configPath);
    const after = await second.connect();
    const refused = await askOn(after, NORA, callWithin("s-1"));
    expect(refusalOf(refused)).toEqual([409, "session-suspended"]);
    expect(refusalOf(await askOn(after, OPAL, callWithin("s-1")))).toEqual([
      401,
      "session-mismatch",
    ]);
    const resumed = await askOn(after, NORA, resumption(nonce));
    expect(resumed.body["result"]).toMatchObject({ checkpoint: { step: 3 } });
    second.child.kill("SIGKILL");
    await second.outcome;

    const third = await startProgram(deployment.configPath);
    const last = await third.connect();
    expect(refusalOf(await askOn(last, NORA, resumption(nonce)))).toEqual([409, "nonce-reused"]);
    expect((await askOn(last, NORA, callWithin("s-1"))).status).toBe(200);
    third.child.kill("SIGKILL");
  });
});

// AGTP "Sessions"
describe("a session of a daemon that is killed", () => {
  it("is its agent's and nobody else's, from the answer to its first request on", async () => {
    const deployment = makeDeployment(negotiationFiles());
    const first = await startProgram(deployment.configPath);
    const before = await first.connect();
    expect((await askOn(before, NORA, callWithin("s-1"))).status).toBe(200);
    // One that is refused has begun its session as well.
    const nowhere = { method: "EVALUATE", path: "/nowhere", headers: { "Session-ID": "s-2" } };
    expect((await askOn(before, NORA, nowhere)).status).toBe(404);
    first.child.kill("SIGKILL");
    await first.outcome;

    const second = await startProgram(deployment.configPath);
    const after = await second.connect();
    for (const id of ["s-1", "s-2"]) {
      const refused = await askOn(after, OPAL, callWithin(id));
      expect(refusalOf(refused)).toEqual([401, "session-mismatch"]);
      expect((await askOn(after, NORA, callWithin(id))).status).toBe(200);
    }
    const inspection = { method: "INSPECT", body: { target: "session", session_id: "s-1" } };
    const seen = await askOn(after, NORA, inspection);
    expect(seen.body["result"]).toMatchObject({ session_id: "s-1", state: "active" });
    second.child.kill("SIGKILL");
  });
});

describe("what waits on a daemon", () => {
  it("is there through a reload", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const client = await daemon.connect();
    const id = resultOf(await askOn(client, NORA, escalation("t-1")), "escalation_id");
    const nonce = resultOf(await askOn(client, NORA, suspension("s-1")), "resumption_nonce");
    expect(await daemon.daemon.reload()).toEqual([]);
    expect((await askOn(client, NORA, callIn("t-1"))).status).toBe(409);
    expect((await askOn(client, NORA, callWithin("s-1"))).status).toBe(409);
    expect((await askOn(client, OPAL, confirmation(id, "accepted"))).status).toBe(200);
    expect((await askOn(client, NORA, resumption(nonce))).status).toBe(200);
  });

  it("is resumed by exactly one of many connections", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const clients = await Promise.all(Array.from({ length: 6 }, () => daemon.connect()));
    const [first] = clients;
    if (first === undefined) throw new Error("there is no connection");
    const nonce = resultOf(await askOn(first, NORA, suspension("s-1")), "resumption_nonce");
    const replies = await Promise.all(
      clients.map((client) => askOn(client, NORA, resumption(nonce))),
    );
    const statuses = replies.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 409, 409, 409, 409, 409]);
  });
});
