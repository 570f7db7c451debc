/**
 * CONFIRM of what runs of OpenWOP wait for: nothing is acknowledged, decided or put on record that the run
 * has not taken.
 */
import { describe, expect, it, vi } from "vitest";
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import { agentFile, configFile } from "../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { AGENT, ISSUER, STRANGER } from "../support/genesis.ts";
import { makeCertificate } from "../support/hosted-agents.ts";
import { node, workflow } from "../support/openwop-workflows.ts";
import { PATIENCE } from "../support/patience.ts";

const ALICE = "a".repeat(64);
const OVERSEER = "0".repeat(64);
const SCOPES = ["runs:create", "runs:read", "runs:cancel", "approvals:respond"];

const [ann, ben, eve] = [ISSUER, AGENT, STRANGER].map((key) => makeCertificate({ key }));
const ANN = { certificate: ann };
const BEN = { certificate: ben };
const EVE = { certificate: eve };

async function open(config: object): Promise<TestServer> {
  const gate = workflow("gated", [node("gate", "core.approvalGate", { config: { ...config } })]);
  const certificates = [ann, ben, eve].map((one) => one?.spkiFingerprint);
  return openServer({
    "agtp-server.toml": configFile({
      policies: { identity: { operator_certificates: certificates, inspect_acl: "public" } },
    }),
    "endpoints/.keep": "",
    "agents/alice.agent.json": agentFile({
      ...{ agent_id: ALICE, name: "alice", scopes_accepted: SCOPES },
    }),
    "agents/overseer.agent.json": agentFile({
      ...{ agent_id: OVERSEER, name: "overseer", scopes_accepted: ["inspect:all", ...SCOPES] },
    }),
    "agents/openwop/workflows/gated.json": JSON.stringify(gate),
  });
}

interface Gated {
  readonly server: TestServer;
  readonly runId: string;
  readonly id: string;
  confirm(status: string, peer?: object, more?: object, agentId?: string): Promise<TestReply>;
  /** Where the run waits, by its own path. */
  answer(status: string, agentId: string, peer?: object, more?: object): Promise<TestReply>;
  /** Where the run stands, its escalation, and what is on record of that. */
  standing(): Promise<readonly unknown[]>;
}

/** A run that waits at a gate, and its escalation. */
async function gated(config: object): Promise<Gated> {
  const server = await open(config);
  const asAlice = { headers: { "Agent-ID": ALICE } };
  const begin = { workflowId: "gated", wait_seconds: 5 };
  const started = await server.send({ ...asAlice, method: "EXECUTE", path: "/runs", body: begin });
  const runId = String(started.body["runId"]);
  const { escalations } = server.state;
  await vi.waitFor(() => expect(escalations.list()).toHaveLength(1), PATIENCE);
  const id = escalations.list()[0]?.escalationId ?? "";
  return {
    ...{ server, runId, id },
    confirm: (status, peer = ANN, more = {}, agentId = "") =>
      server.send(
        {
          ...{ method: "CONFIRM", body: { target_id: id, status, ...more } },
          ...(agentId === "" ? {} : { headers: { "Agent-ID": agentId } }),
        },
        peer as Partial<Peer>,
      ),
    answer: (status, agentId, peer = {}, more = {}) =>
      server.send(
        {
          ...{ method: "CONFIRM", path: `/runs/${runId}/interrupts/gate` },
          ...{ headers: { "Agent-ID": agentId }, body: { status, ...more } },
        },
        peer as Partial<Peer>,
      ),
    standing: async () => {
      const { body } = await server.send({ ...asAlice, method: "QUERY", path: `/runs/${runId}` });
      const target = { target: "lifecycle", agent_id: ALICE };
      const inspected = await server.send({ ...asAlice, method: "INSPECT", body: target });
      const events = (inspected.body["result"]?.["events"] ?? []) as unknown as Recorded[];
      const told = events.map(({ payload }) => payload["event_type"]);
      return [body["status"], escalations.find(id)?.status, ...told];
    },
  };
}

interface Recorded {
  readonly payload: Readonly<Record<string, unknown>>;
}

const WAITS = ["waiting-approval", "pending_review"];
const DONE = ["completed", "accepted", "escalation_decided"];

/** Waits until the run, which goes on by itself, stands so. */
async function expectStanding(run: Gated, standing: readonly string[]): Promise<void> {
  await vi.waitFor(async () => expect(await run.standing()).toEqual(standing), PATIENCE);
}

// OpenWOP "interrupt" approval, AGTP "CONFIRM"
describe("an operator's word about a gate", () => {
  it("is refused where the gate takes no plain one, and taken as what the gate asks for", async () => {
    const run = await gated({ actions: ["edit-accept"] });
    for (const status of ["accepted", "rejected"]) {
      const refused = await run.confirm(status);
      expect(refused.status, refused.text).toBe(422);
      expect(refused.text).toContain("/resume_value/action");
      expect(await run.standing()).toEqual(WAITS);
    }
    const resume_value = { action: "edit-accept", editedArtifactData: { text: "shorter" } };
    const taken = await run.confirm("accepted", ANN, { resume_value });
    expect(taken.status, taken.text).toBe(200);
    expect(taken.body["result"]).toMatchObject({
      ...{ status: "accepted", escalation: { status: "accepted" } },
      operator: { id: ann?.fingerprint },
    });
    await expectStanding(run, DONE);
  });

  it("is refused where the gate lists others, and taken where it lists operators or this one", async () => {
    const refusing = await gated({ approversList: [`agtp:${OVERSEER}`] });
    const refused = await refusing.confirm("accepted");
    expect([refused.status, refused.body["error"]?.["code"]]).toEqual([
      ...[403, "confirmation-forbidden"],
    ]);
    expect(await refusing.standing()).toEqual(WAITS);
    expect((await refusing.confirm("accepted", {}, {}, OVERSEER)).status).toBe(200);
    await expectStanding(refusing, DONE);
    for (const name of ["operator", `operator:${ann?.spkiFingerprint}`]) {
      const run = await gated({ approversList: [name] });
      expect((await run.confirm("accepted")).status).toBe(200);
      await expectStanding(run, DONE);
    }
  });

  it("is one vote where several are asked for, which one person gives once", async () => {
    const run = await gated({ requiredApprovals: 2 });
    const first = await run.confirm("accepted", ANN, { reason: "fine" });
    expect(first.status, first.text).toBe(200);
    const by = `operator:${ann?.spkiFingerprint}`;
    expect(first.body["result"]).toMatchObject({
      ...{ vote: "accepted", votes: [{ by, action: "accept" }] },
      escalation: { status: "pending_review", votes: [{ by, action: "accept" }] },
      run: { status: "waiting-approval" },
    });
    expect(first.body["result"]).not.toHaveProperty("status");
    const waits = [...WAITS, "escalation_voted"];
    expect(await run.standing()).toEqual(waits);
    const again = await run.confirm("accepted");
    const attestation_id = first.body["result"]?.["attestation_id"];
    expect(again.body["result"]).toMatchObject({ noop: true, vote: "accepted", attestation_id });
    // As an agent, too, and where the run waits.
    expect((await run.confirm("accepted", ANN, {}, OVERSEER)).body["result"]).toHaveProperty(
      "noop",
    );
    expect((await run.answer("accepted", OVERSEER, ANN)).status).toBe(422);
    const renewed = { certificate: makeCertificate({ key: ISSUER, serialNumber: "20" }) };
    expect((await run.confirm("accepted", renewed)).body["result"]).toHaveProperty("noop");
    const other = await run.confirm("rejected");
    expect([other.status, other.body["error"]?.["code"]]).toEqual([409, "decision-conflict"]);
    expect(await run.standing()).toEqual(waits);
    const second = await run.confirm("accepted", BEN);
    expect(second.body["result"]).toMatchObject({ status: "accepted", escalation_id: run.id });
    await expectStanding(run, [...DONE, "escalation_voted"]);
  });

  it("stands with the escalation also where it was given to the run itself", async () => {
    const run = await gated({ requiredApprovals: 3 });
    expect((await run.confirm("accepted")).status).toBe(200);
    expect((await run.answer("accepted", OVERSEER, BEN)).status).toBe(200);
    const by = [ann, ben].map((one) => `operator:${one?.spkiFingerprint}`);
    const poll = { method: "QUERY", path: `/escalations/${run.id}` };
    await vi.waitFor(async () => {
      const { body } = await run.server.send(poll, ANN);
      expect(body["result"]).toMatchObject({
        status: "pending_review",
        votes: by.map((one) => ({ by: one, action: "accept" })),
      });
    }, PATIENCE);
  });

  it("of two at once is one that the run takes, and the record says which", async () => {
    const run = await gated({});
    const words = [run.confirm("accepted", ANN), run.confirm("rejected", BEN)];
    const replies = await Promise.all(words);
    const statuses = replies.map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 409]);
    const isYes = statuses[0] === 200;
    await expectStanding(run, [
      ...[isYes ? "completed" : "failed", isYes ? "accepted" : "rejected", "escalation_decided"],
    ]);
    const { decision } = run.server.state.escalations.find(run.id) ?? {};
    expect(decision?.operator?.id).toBe((isYes ? ann : ben)?.fingerprint);
  });

  it("that the run took is on record, though the escalation could not be decided then", async () => {
    const run = await gated({});
    const { escalations } = run.server.state;
    vi.spyOn(escalations, "decide").mockRejectedValueOnce(new Error("the process was killed"));
    const first = await run.confirm("accepted");
    expect(first.body["result"]).not.toHaveProperty("attestation_id");
    expect(first.body["result"]).toMatchObject({ escalation: { status: "pending_review" } });
    const late = await run.confirm("rejected", BEN);
    expect([late.status, late.body["escalation_status"]]).toEqual([409, "accepted"]);
    await expectStanding(run, DONE);
    const again = await run.confirm("accepted");
    expect(again.body["result"]).toMatchObject({
      ...{ noop: true, reason: `answered by operator:${ann?.spkiFingerprint}` },
    });
  });

  it("must not contradict the value that comes with it, nor where the run waits", async () => {
    const run = await gated({ actions: ["accept", "refine", "reject"] });
    const refine = { action: "refine", refineFeedback: { scope: "whole" } };
    for (const [status, resume_value] of [
      ["accepted", { action: "reject" }],
      ["accepted", refine],
      ["rejected", { action: "accept" }],
    ] as const) {
      expect((await run.confirm(status, ANN, { resume_value })).status).toBe(422);
      expect((await run.answer(status, OVERSEER, {}, { resume_value })).status).toBe(422);
    }
    expect(await run.standing()).toEqual(WAITS);
    expect((await run.confirm("rejected", EVE, { resume_value: refine })).status).toBe(200);
    await expectStanding(run, ["failed", "rejected", "escalation_decided"]);
  });
});
