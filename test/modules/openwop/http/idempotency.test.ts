/** One Idempotency-Key, one effect: in a race, with another body, through a kill. */
import { describe, expect, it } from "vitest";
import { lastingStore, OTHER_KEY, openRuns } from "../../../support/openwop-runs.ts";

const REPLAY = "openwop-idempotent-replay";

function body(nonce: string): object {
  return { workflowId: "conformance-idempotent", inputs: { nonce } };
}

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

describe("Idempotency-Key", () => {
  it("answers the same again, and says so", async () => {
    const server = await openRuns();
    const first = await server.post("/v1/runs", body("a"), keyed("k"));
    expect(first.status).toBe(201);
    expect(first.headers.get(REPLAY)).toBeNull();
    const second = await server.post("/v1/runs", body("a"), keyed("k"));
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers.get(REPLAY)).toBe("true");
  });

  it("takes members in another order for the same body", async () => {
    const server = await openRuns();
    const first = await server.post("/v1/runs", body("a"), keyed("k"));
    const turned = '{"inputs":{"nonce":"a"},"workflowId":"conformance-idempotent"}';
    const second = await server.post("/v1/runs", turned, keyed("k"));
    expect(second.body.runId).toBe(first.body.runId);
  });

  it("answers 409 to another body, without the first one's run", async () => {
    const server = await openRuns();
    await server.post("/v1/runs", body("a"), keyed("k"));
    const second = await server.post("/v1/runs", body("b"), keyed("k"));
    expect(second.status).toBe(409);
    expect(second.body.error).toBe("idempotency_key_mismatch");
    expect(second.body).not.toHaveProperty("runId");
  });

  it("makes one run of ten requests at the same time", async () => {
    const server = await openRuns();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => server.post("/v1/runs", body("a"), keyed("k"))),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(replies.map((reply) => reply.body.runId)).size).toBe(1);
    const fresh = replies.filter(({ headers }) => headers.get(REPLAY) === null);
    expect(fresh).toHaveLength(1);
  });

  it("makes ten runs of ten keys", async () => {
    const server = await openRuns();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => server.post("/v1/runs", body("a"), keyed(`k${n}`))),
    );
    expect(new Set(replies.map((reply) => reply.body.runId)).size).toBe(10);
  });

  it("holds through a kill", async () => {
    const store = lastingStore();
    const before = await openRuns({ store, isStarted: false });
    const first = await before.post("/v1/runs", body("a"), keyed("k"));
    await before.close();
    const after = await openRuns({ store });
    const second = await after.post("/v1/runs", body("a"), keyed("k"));
    expect(second.body.runId).toBe(first.body.runId);
    expect(second.headers.get(REPLAY)).toBe("true");
    expect((await after.post("/v1/runs", body("b"), keyed("k"))).status).toBe(409);
  });

  it("keeps tenants and operations apart", async () => {
    const server = await openRuns();
    const mine = await server.post("/v1/runs", body("a"), keyed("k"));
    const theirs = await server.post("/v1/runs", body("a"), { key: OTHER_KEY, ...keyed("k") });
    expect(theirs.body.runId).not.toBe(mine.body.runId);
    const other = await server.post(`/v1/runs/${mine.body.runId}/cancel`, {}, keyed("k"));
    expect(other.status).toBe(200);
  });

  it("takes the run that is cancelled for a part of the request", async () => {
    const server = await openRuns();
    const inputs = { delayMs: 10_000 };
    const first = await server.run("conformance-cancellable", { inputs });
    const second = await server.run("conformance-cancellable", { inputs });
    await server.post(`/v1/runs/${first}/cancel`, {}, keyed("k"));
    const { status } = await server.post(`/v1/runs/${second}/cancel`, {}, keyed("k"));
    expect(status).toBe(409);
    await server.post(`/v1/runs/${second}/cancel`);
  });

  it("does not remember what a client can mend", async () => {
    const server = await openRuns();
    const wrong = await server.post("/v1/runs", { workflowId: "nothing" }, keyed("k"));
    expect(wrong.status).toBe(400);
    expect((await server.post("/v1/runs", body("a"), keyed("k"))).status).toBe(201);
  });

  it("is passed over by what only reads", async () => {
    const server = await openRuns();
    const path = `/v1/runs/${await server.run("conformance-noop")}`;
    const first = await server.get(path, keyed("k"));
    expect(first.status).toBe(200);
    expect((await server.get(path, keyed("k"))).headers.get(REPLAY)).toBeNull();
  });

  it.each(["", "x".repeat(256)])("answers 400 to a key of %s", async (key) => {
    const server = await openRuns();
    expect((await server.post("/v1/runs", body("a"), keyed(key))).status).toBe(400);
  });

  it("answers an interrupt once", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    await server.until(runId, "waiting-approval");
    const path = `/v1/runs/${runId}/interrupts/decider`;
    const said = { resumeValue: true };
    const first = await server.post(path, said, keyed("k"));
    const second = await server.post(path, said, keyed("k"));
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await server.post(path, said)).status).toBe(409);
  });
});
