/** Contracts whose calls, or whose steps, wait for an operator. */
import { describe, expect, it } from "vitest";
import { decide, OPERATOR, operator } from "../support/approving.ts";
import { makeCertificate } from "../support/certificate.ts";
import { openServer } from "../support/dispatch.ts";
import {
  AUDIT,
  ask,
  NORA,
  negotiationFiles,
  OPT_IN,
  offerOf,
  presenting,
} from "../support/negotiation.ts";
import { refusalOf } from "../support/waiting.ts";

async function open(approvals: readonly object[], rcns: object = {}) {
  const { cert } = await makeCertificate();
  const files = negotiationFiles({
    tls: { client_auth: "optional", client_ca: "ca.pem" },
    policies: {
      approvals,
      rcns: { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 1000, ...rcns },
      identity: { operator_certificates: [operator.spkiFingerprint] },
    },
  });
  // A rule for a pair that contracts alone have matches nothing yet.
  return openServer({ ...files, "ca.pem": cert }, { isClean: false });
}

describe("a contract", () => {
  it("asks for its approval when it is called, and runs once", async () => {
    const server = await open([{ method: "AUDIT", approval: "operator" }]);
    const contract = presenting(await offerOf(server, NORA));
    const asked = await ask(server, NORA, AUDIT, contract);
    expect(refusalOf(asked)).toEqual([262, "approval-required"]);
    const id = String(asked.body["escalation_id"]);
    expect((await decide(server, id, "accepted")).status).toBe(200);
    const approved = { ...contract, "Escalation-ID": id };
    expect((await ask(server, NORA, AUDIT, approved)).status).toBe(200);
    const again = await ask(server, NORA, AUDIT, approved);
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(OPERATOR.certificate).toBe(operator);
  });

  it("is approved for EXECUTE of its pair as well, under one Idempotency-Key", async () => {
    const server = await open([{ method: "AUDIT", approval: "operator" }]);
    const contract = presenting(await offerOf(server, NORA));
    const first = await ask(server, NORA, AUDIT, contract);
    expect((await decide(server, String(first.body["escalation_id"]), "accepted")).status).toBe(
      200,
    );
    const agreed = { ...contract, "Escalation-ID": String(first.body["escalation_id"]) };
    expect((await ask(server, NORA, AUDIT, agreed)).status).toBe(200);
    const body = { action: "AUDIT /reviews", parameters: { subject: "barn" } };
    const execute = (more: object = {}) =>
      ask(server, NORA, { method: "EXECUTE", body }, { "Idempotency-Key": "k-1", ...more });
    const asked = await execute();
    expect(refusalOf(asked)).toEqual([262, "approval-required"]);
    const id = String(asked.body["escalation_id"]);
    expect((await decide(server, id, "accepted")).status).toBe(200);
    expect((await execute({ "Escalation-ID": id })).status).toBe(200);
    const again = await execute({ "Escalation-ID": id });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  });

  it("with a step that needs one fails before anything ran", async () => {
    const server = await open([{ method: "ANALYZE", approval: "operator" }]);
    const contract = presenting(await offerOf(server, NORA));
    const reply = await ask(server, NORA, AUDIT, contract);
    expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    expect(reply.body["error"]?.["details"]).toMatchObject({
      ...{ recipe: "audit", step: 2, outputs: {} },
    });
  });

  it.each(["AUDIT", "ANALYZE"])(
    "is not run at once where %s needs an approval, however optimistic the server is",
    async (method) => {
      const server = await open([{ method, approval: "operator" }], { mode: "optimistic" });
      expect((await ask(server, NORA, AUDIT, OPT_IN)).status).toBe(461);
      const free = await open([{ method: "CREATE", approval: "operator" }], { mode: "optimistic" });
      expect((await ask(free, NORA, AUDIT, OPT_IN)).status).toBe(200);
    },
  );
});
