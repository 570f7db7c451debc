/** A task at a peer that waits for an operator there, and is asked for again by the same Idempotency-Key. */

import { describe, expect, it } from "vitest";
import { makeOperator } from "../support/approval-ways.ts";
import { askOnce, openDaemon, type TestDaemon } from "../support/daemon.ts";
import { ALICE, delegation, delegationFiles, refusalOf, serverKey } from "../support/delegation.ts";
import { agentFile, type DeploymentFiles } from "../support/deployment.ts";
import type { TestReply } from "../support/dispatch.ts";
import { confirmation } from "../support/waiting.ts";

const { ca: CA, fingerprint: FINGERPRINT, connection: AS_OPERATOR } = makeOperator();
const HOME_KEY = serverKey(21);
const AWAY_KEY = serverKey(22);
const ERIN = "1".repeat(64);
const SCOPES = { scopes: ["booking:*"], accept_scopes: ["booking:*"] };

function filesOf(id: string, { privatePem }: typeof HOME_KEY, tables: object): DeploymentFiles {
  const signed = { server: { server_id: id }, signing: { key: "signing.pem" }, ...tables };
  return delegationFiles(signed, { "signing.pem": privatePem });
}

function openAway(): Promise<TestDaemon> {
  const home = { name: "home", server_id: "home.example", public_key: HOME_KEY.text, ...SCOPES };
  const identity = { operator_certificates: [FINGERPRINT] };
  const approvals = [{ method: "BOOK", approval: "operator" }];
  const { "agents/alice.agent.json": _, ...files } = filesOf("away.example", AWAY_KEY, {
    ...{ peers: [home], policies: { identity, approvals } },
    tls: { client_auth: "optional", client_ca: "ca.pem" },
  });
  const erin = agentFile({ agent_id: ERIN, name: "erin" });
  return openDaemon({ ...files, "ca.pem": CA, "agents/erin.agent.json": erin });
}

function openHome({ daemon: { port, fingerprint256 } }: TestDaemon): Promise<TestDaemon> {
  const away = { name: "away", server_id: "away.example", public_key: AWAY_KEY.text, ...SCOPES };
  const place = { uri: `agtp://127.0.0.1:${port}`, fingerprint: fingerprint256, agents: [ERIN] };
  return openDaemon(filesOf("home.example", HOME_KEY, { peers: [{ ...away, ...place }] }));
}

function handOn(daemon: TestDaemon, escalationId?: string): Promise<TestReply> {
  const presented = escalationId === undefined ? {} : { "Escalation-ID": escalationId };
  const headers = { "Agent-ID": ALICE, "Idempotency-Key": "k-1", ...presented };
  const body = delegation({ target: ERIN, more: { deadline: 20 } });
  return askOnce(daemon, { method: "DELEGATE", headers, body });
}

describe("a task at a peer that waits for an operator there", () => {
  it("is done under the same Idempotency-Key once it was approved, and once", async () => {
    const away = await openAway();
    const home = await openHome(away);
    const asked = await handOn(home);
    expect(refusalOf(asked)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    const id = /esc-[0-9a-f-]{36}/.exec(asked.text)?.[0] ?? "";
    expect((await askOnce(away, confirmation(id, "accepted"), AS_OPERATOR)).status).toBe(200);
    const done = await handOn(home, id);
    expect(done.status).toBe(200);
    expect(done.headers.get("idempotency-replayed")).toBeUndefined();
    const again = await handOn(home, id);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(done.body);
  });

  it("is tried again where the peer was not reached", async () => {
    const away = await openAway();
    const home = await openHome(away);
    await away.close();
    for (const _ of ["first", "again"]) {
      const reply = await handOn(home);
      expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-unreachable"]);
      expect(reply.headers.get("idempotency-replayed")).toBeUndefined();
    }
  });
});
