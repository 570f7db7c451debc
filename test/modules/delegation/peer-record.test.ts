import { describe, expect, it } from "vitest";
import { compileGrants } from "../../../src/identity/authority-scope.ts";
import {
  type Answered,
  priorActionsOf,
  verifyPeerRecord,
} from "../../../src/modules/delegation/forward.ts";
import type { PeerServer } from "../../../src/modules/delegation/peers.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { keyOf } from "../../support/genesis.ts";
import { sha256 } from "../../support/records.ts";

const KEY = keyOf(41);
const ALICE = "a".repeat(64);
const PEER: PeerServer = {
  ...{ name: "away", serverId: "away.example", address: { host: "::1", port: 4480 } },
  ...{ agents: [], offered: compileGrants([]), accepted: compileGrants([]) },
  ...{ publicKey: KEY.publicKey, zone: undefined, timeoutMs: 1000, maxConnections: 1 },
};
const MESSAGE = { agentId: ALICE, body: '{"task":1}' };
const TEXT = '{"status":200}';

const PAYLOAD = {
  ...{ server_id: "away.example", agent_id: ALICE, method: "DELEGATE", status: 200 },
  request_hash: `sha256:${sha256(MESSAGE.body)}`,
  result_hash: `sha256:${sha256(TEXT)}`,
};

function answered(payload: object, changes: Partial<Answered> = {}, key = KEY): Answered {
  const record = createRecordSigner(key.privateKey).sign(JSON.stringify(payload));
  const facts = { status: 200, body: {}, text: TEXT, auditId: sha256(record), record };
  return { kind: "answered", ...facts, ...changes };
}

function verify(answer: Answered) {
  return verifyPeerRecord(answer, MESSAGE, PEER);
}

// AGTP-IDENTIFIERS "Attribution-Record"
describe("verifyPeerRecord", () => {
  it("proves an answer", () => {
    expect(verify(answered(PAYLOAD))).toMatchObject({ payload: PAYLOAD });
  });

  it.each<[string, Answered]>([
    ["has no record", answered(PAYLOAD, { record: undefined })],
    ["is not the record's hash", answered(PAYLOAD, { auditId: "0".repeat(64) })],
    ["not signed by the peer's key", answered(PAYLOAD, {}, keyOf(42))],
    ["server_id", answered({ ...PAYLOAD, server_id: "x" })],
    ["another agent", answered({ ...PAYLOAD, agent_id: "b".repeat(64) })],
    ["another agent", answered({ ...PAYLOAD, agent_id: "" })],
    ["method", answered({ ...PAYLOAD, method: "QUERY" })],
    ["status", answered(PAYLOAD, { status: 202 })],
    ["request_hash", answered({ ...PAYLOAD, request_hash: "sha256:0" })],
    ["result_hash", answered(PAYLOAD, { text: '{"status":200,"result":1}' })],
  ])("says what is wrong: %s", (words, answer) => {
    expect(verify(answer)).toContain(words);
  });

  it("says so of a record that is not signed", () => {
    const record = createRecordSigner().sign(JSON.stringify(PAYLOAD));
    expect(verify(answered(PAYLOAD, { record, auditId: sha256(record) }))).toContain("not signed");
  });
});

describe("priorActionsOf", () => {
  it("says where each can be asked for, and passes over what is none", () => {
    const one = { agent_id: ALICE, audit_id: "1".repeat(64) };
    const elsewhere = { ...one, agent_uri: `agtp://${ALICE}@elsewhere` };
    const forged = { ...one, agent_uri: "javascript:alert(1)" };
    const written = [
      one,
      elsewhere,
      forged,
      { agent_id: ALICE },
      7,
      null,
      { ...one, audit_id: "x" },
    ];
    const own = { ...one, agent_uri: `agtp://${ALICE}@[::1]:4480` };
    expect(priorActionsOf({ prior_actions: written }, PEER)).toEqual([own, elsewhere, own]);
    expect(priorActionsOf({ prior_actions: "x" }, PEER)).toEqual([]);
    expect(priorActionsOf({ prior_actions: Array(99).fill(one) }, PEER)).toHaveLength(32);
  });
});
