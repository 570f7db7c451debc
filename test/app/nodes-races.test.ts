/** What is there to be won once is won once, though two nodes are asked at the same time. */
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Link } from "../../tools/torture/cluster/link.ts";
import { type Ask, askThrough } from "../support/agntcy.ts";
import { makeOperator } from "../support/approval-ways.ts";
import { ALMA, approvingFiles, BORIS, booking, ranIn, under } from "../support/approving.ts";
import { askOnce, openDaemon, type TestDaemon } from "../support/daemon.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import { AUDIT, NORA, negotiationFiles, OPT_IN, presenting } from "../support/negotiation.ts";
import { PATIENCE, PATIENT_CLUSTER } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { byAlma, losses, race } from "../support/racing.ts";
import { confirmation, escalation, resultOf, resumption, suspension } from "../support/waiting.ts";

const OPERATOR = makeOperator();
const PRIVATE_KEY = generateKeyPairSync("ed25519").privateKey;
const ROUNDS = 5;
const CONNECTIONS = 3;
/** A node without processor time hears late of what the other has done. */

async function openNodes(): Promise<readonly [TestDaemon, TestDaemon]> {
  const url = await postgres().makeDatabase();
  const open = async (node: string): Promise<TestDaemon> => {
    const files = await approvingFiles([], {
      signing: { key: "signing.pem" },
      store: { driver: "postgres", url },
      cluster: { node, ...PATIENT_CLUSTER },
      policies: { identity: { operator_certificates: [OPERATOR.fingerprint] } },
    });
    const key = String(PRIVATE_KEY.export({ type: "pkcs8", format: "pem" }));
    return openDaemon({ ...files, "ca.pem": OPERATOR.ca, "signing.pem": key });
  };
  return [await open("a"), await open("b")];
}

function winners(replies: readonly TestReply[]): readonly TestReply[] {
  return replies.filter(({ status }) => status === 200);
}

describeWithPostgres("two nodes that are asked for the same at the same time", () => {
  // AGTP "RESUME"
  it("resume a session by its nonce once", async () => {
    const nodes = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const suspended = await askOnce(nodes[0], byAlma(suspension(`s-${round}`)));
      const replies = await race(
        nodes,
        CONNECTIONS,
        resumption(resultOf(suspended, "resumption_nonce")),
      );
      expect(replies).toHaveLength(2 * CONNECTIONS);
      expect(winners(replies)).toHaveLength(1);
      expect(losses(replies)).toEqual(new Set(["409 nonce-reused"]));
    }
  });

  it("find at once what was made on the other one", async () => {
    const [a, b] = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const suspended = await askOnce(a, byAlma(suspension(`f-${round}`)));
      const resumed = await askOnce(b, byAlma(resumption(resultOf(suspended, "resumption_nonce"))));
      expect([resumed.status, resumed.text]).toEqual([200, resumed.text]);
      const asked = await askOnce(a, byAlma(booking(`f-${round}`)));
      const path = `/escalations/${String(asked.body["escalation_id"])}`;
      expect((await askOnce(b, byAlma({ method: "QUERY", path }))).status).toBe(200);
    }
  });

  // AGTP "Sessions"
  it("begin a session for one of two agents, and do nothing for the other", async () => {
    const nodes = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const byAgent = (agent: string, room: string): TestRequest => ({
        ...{ method: "RESERVE", path: `/rooms/${room}`, body: { guest: "Ada" } },
        headers: { "Agent-ID": agent, "Session-ID": `shared-${round}` },
      });
      const replies = await Promise.all([
        race([nodes[0]], CONNECTIONS, byAgent(ALMA, `alma-${round}`)),
        race([nodes[1]], CONNECTIONS, byAgent(BORIS, `boris-${round}`)),
      ]);
      const counts = replies.map((some) => winners(some).length).toSorted();
      expect(counts).toEqual([0, CONNECTIONS]);
      expect(losses(replies.flat())).toEqual(new Set(["401 session-mismatch"]));
      const rooms = nodes
        .flatMap((node) => ranIn(node))
        .filter((ran) => ran.includes(`-${round} `));
      expect(rooms).toHaveLength(CONNECTIONS);
    }
  });

  // AGTP "ESCALATE"
  it("open one escalation of a task, and tell everybody of that one", async () => {
    const nodes = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const replies = await race(nodes, CONNECTIONS, escalation(`t-${round}`));
      expect(replies).toHaveLength(2 * CONNECTIONS);
      const ids = new Set(replies.map((reply) => resultOf(reply, "escalation_id")));
      expect([...ids]).toEqual([expect.stringMatching(/^esc-/)]);
    }
  });

  // AGTP-API §11
  it("run a call under an approval once", async () => {
    const nodes = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const request = booking(String(round));
      const asked = await askOnce(nodes[0], byAlma(request));
      const id = String(asked.body["escalation_id"]);
      const decided = await askOnce(nodes[1], confirmation(id, "accepted"), OPERATOR.connection);
      expect(decided.status).toBe(200);
      const replies = await race(nodes, CONNECTIONS, under(id, request));
      expect(replies).toHaveLength(2 * CONNECTIONS);
      expect(winners(replies)).toHaveLength(1);
      expect(losses(replies)).toEqual(new Set(["409 approval-used"]));
    }
    const ran = nodes.flatMap((node) => ranIn(node));
    expect(ran.toSorted()).toEqual(Array.from({ length: ROUNDS }, (_, room) => `book ${room} Ada`));
  });

  // AGTP-API §10.1.5
  it("run a request under an Idempotency-Key once, and say the same of it afterwards", async () => {
    const nodes = await openNodes();
    for (let round = 0; round < ROUNDS; round += 1) {
      const request: TestRequest = {
        ...{ method: "RESERVE", path: `/rooms/${round}`, body: { guest: "Ada" } },
        headers: { "Idempotency-Key": `k-${round}` },
      };
      const replies = await race(nodes, CONNECTIONS, request);
      expect(replies).toHaveLength(2 * CONNECTIONS);
      const [won] = winners(replies);
      expect(won).toBeDefined();
      // A node does not wait for a call that another one runs.
      const codes = ["409 idempotency-outcome-unknown", "409 idempotency-key-in-use"];
      for (const code of losses(replies)) expect(codes).toContain(code);
      for (const node of nodes) {
        await vi.waitFor(async () => {
          const again = await askOnce(node, byAlma(request));
          expect([again.status, again.body]).toEqual([200, won?.body]);
          expect(again.headers.get("idempotency-replayed")).toBe("true");
        }, PATIENCE);
      }
    }
    const ran = nodes.flatMap((node) => ranIn(node));
    expect(ran.toSorted()).toEqual(Array.from({ length: ROUNDS }, (_, room) => `book ${room} Ada`));
  });
});

describeWithPostgres("two nodes that serve contracts", () => {
  // AGTP-API §10.1.4
  it("serve one no more, on either, once it was answered that it is withdrawn", async () => {
    const url = await postgres().makeDatabase();
    const link = await Link.open(join(postgres().directory, ".s.PGSQL.5432"));
    onTestFinished(() => link.close());
    const database = url.slice(url.indexOf("@/") + 2, url.indexOf("?"));
    const open = async (node: string, store: string) => {
      const tables = {
        signing: { key: "signing.pem" },
        store: { driver: "postgres", url: store },
        cluster: { node, view_lease_ms: 5_000 },
      };
      const key = String(PRIVATE_KEY.export({ type: "pkcs8", format: "pem" }));
      const daemon = await openDaemon({ ...negotiationFiles(tables), "signing.pem": key });
      return askThrough(await daemon.connect());
    };
    const near = await open("a", url);
    const far = await open("b", `postgres://agtp@127.0.0.1:${link.port}/${database}`);
    const withdraw = async (here: Ask, there: Ask): Promise<void> => {
      const offered = await here(NORA, { ...AUDIT, headers: OPT_IN });
      expect(offered.status).toBe(461);
      const id = String(offered.body["synthesis_id"]);
      const under = { ...AUDIT, headers: presenting(id) };
      // Made, it holds everywhere; so it does when it is gone.
      expect((await there(NORA, under)).status).toBe(200);
      const revoke = { method: "REVOKE", body: { target: "contract", synthesis_id: id } };
      expect((await here(NORA, revoke)).status).toBe(200);
      expect(await there(NORA, under)).toMatchObject({
        ...{ status: 464, body: { reason: "contract-revoked" } },
      });
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await withdraw(near, far);
      await withdraw(far, near);
    }
    // What the other commits comes late from here on, and is waited for.
    link.slow(50);
    await withdraw(near, far);
  });
});
