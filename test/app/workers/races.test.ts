/** What is there to be won once is won once, though two workers are asked at the same time. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { makeOperator } from "../../support/approval-ways.ts";
import { approvingFiles, booking, ranIn, under } from "../../support/approving.ts";
import { askOnce, createDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../../support/dispatch.ts";
import { PATIENCE, PATIENT_CLUSTER } from "../../support/patience.ts";
import { byAlma, losses, race } from "../../support/racing.ts";
import { confirmation, resultOf, resumption, suspension } from "../../support/waiting.ts";
import { PRIVATE_KEY } from "../../support/workers.ts";

const OPERATOR = makeOperator();
const CONNECTIONS = 50;
const ROUNDS = 3;

let deployment: TestDeployment;
let daemon: TestDaemon;

beforeAll(async () => {
  const files = await approvingFiles([], {
    ...{ server: { workers: 2 }, cluster: PATIENT_CLUSTER },
    signing: { key: "signing.pem" },
    policies: { identity: { operator_certificates: [OPERATOR.fingerprint] } },
  });
  deployment = createDeployment({
    ...files,
    ...{ "ca.pem": OPERATOR.ca, "signing.pem": PRIVATE_KEY },
  });
  daemon = await createDaemon(deployment);
});

afterAll(async () => {
  await daemon.close();
  deployment.remove();
});

function winners(replies: readonly TestReply[]): readonly TestReply[] {
  return replies.filter(({ status }) => status === 200);
}

// AGTP-API §11
it("runs a call under an approval once", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const request = booking(String(round));
    const asked = await askOnce(daemon, byAlma(request));
    const id = String(asked.body["escalation_id"]);
    const decided = await askOnce(daemon, confirmation(id, "accepted"), OPERATOR.connection);
    expect(decided.status).toBe(200);
    const replies = await race([daemon], CONNECTIONS, under(id, request));
    expect(replies).toHaveLength(CONNECTIONS);
    expect(winners(replies)).toHaveLength(1);
    expect(losses(replies)).toEqual(new Set(["409 approval-used"]));
  }
  const ran = Array.from({ length: ROUNDS }, (_, room) => `book ${room} Ada`);
  expect(ranIn(daemon).toSorted()).toEqual(ran);
});

it("says of a call under an approval that it is running, whichever worker has it", async () => {
  const request = { ...booking("9"), path: "/slow/9" };
  const asked = await askOnce(daemon, byAlma(request));
  const id = String(asked.body["escalation_id"]);
  await askOnce(daemon, confirmation(id, "accepted"), OPERATOR.connection);
  const client = await daemon.connect();
  client.write(encodeRequest(byAlma(under(id, request))));
  await vi.waitFor(() => expect(ranIn(daemon)).toContain("slow 9"), PATIENCE);
  const replies = await race([daemon], CONNECTIONS, under(id, request));
  client.destroy();
  expect(losses(replies)).toEqual(new Set(["409 approval-used"]));
  expect(new Set(replies.map(({ body }) => body["outcome"]))).toEqual(new Set(["running"]));
});

// AGTP-API §10.1.5
it("runs a request under an Idempotency-Key once", async () => {
  const request: TestRequest = {
    ...{ method: "RESERVE", path: "/rooms/7", body: { guest: "Ada" } },
    headers: { "Idempotency-Key": "k" },
  };
  const replies = await race([daemon], CONNECTIONS, request);
  expect(replies).toHaveLength(CONNECTIONS);
  // A worker does not wait for a call that another one runs.
  const codes = ["409 idempotency-outcome-unknown", "409 idempotency-key-in-use"];
  for (const code of losses(replies)) expect(codes).toContain(code);
  expect(winners(replies).length).toBeGreaterThan(0);
  expect(ranIn(daemon).filter((line) => line === "book 7 Ada")).toHaveLength(1);
});

// AGTP "RESUME"
it("resumes a session by its nonce once", async () => {
  const suspended = await askOnce(daemon, byAlma(suspension("s")));
  const replies = await race(
    [daemon],
    CONNECTIONS,
    resumption(resultOf(suspended, "resumption_nonce")),
  );
  expect(replies).toHaveLength(CONNECTIONS);
  expect(winners(replies)).toHaveLength(1);
  // Also by the worker that had not heard of the session.
  expect(losses(replies)).toEqual(new Set(["409 nonce-reused"]));
});
