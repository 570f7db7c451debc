/** Calls under a contract that an operator has to approve.   docs/approvals.md */

import { createHash, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { makeCertificate } from "../../support/certificate.ts";
import { askOnce } from "../../support/daemon.ts";
import { VERSIONS } from "../../support/mcp.ts";
import {
  type NegotiatingMcp,
  openNegotiating,
  type TestUser,
} from "../../support/mcp-contracts.ts";

const AUDIT = { name: "audit_reviews", arguments: { subject: "barn" } };
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: {} };

interface Approving extends NegotiatingMcp {
  approve(escalationId: string): Promise<void>;
}

async function openApproving(): Promise<Approving> {
  const { cert, key } = await makeCertificate();
  const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  const fingerprint = createHash("sha256").update(spki).digest("hex");
  const server = await openNegotiating(
    {
      tls: { client_auth: "optional", client_ca: "ca.pem" },
      policies: {
        approvals: [{ method: "AUDIT", approval: "operator" }],
        identity: { operator_certificates: [fingerprint] },
      },
    },
    { "ca.pem": cert },
  );
  return {
    ...server,
    approve: async (escalationId) => {
      const parameters = { escalation_id: escalationId, status: "accepted" };
      const body = JSON.stringify({ method: "CONFIRM", parameters });
      const reply = await askOnce(server, { method: "CONFIRM", path: "/", body }, { cert, key });
      expect(reply?.status).toBe(200);
    },
  };
}

function escalationIn(value: unknown): string {
  return /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(value))?.[0] ?? "";
}

describe.each(VERSIONS)("a client of %s that accepts a contract", (version) => {
  it("has its call run once an operator has approved it", async () => {
    const server = await openApproving();
    const user: TestUser = { asked: [], answer: "accept" };
    const client = await server.connectUser(version, user);
    const waiting = await client.callTool(AUDIT);
    expect(waiting.isError).toBe(true);
    const escalationId = escalationIn(waiting.content);
    await server.approve(escalationId);
    const approved = { name: "agtp_approved_call", arguments: { escalation_id: escalationId } };
    const done = await client.callTool(approved);
    expect(done.structuredContent).toMatchObject({ verdict: "2 facts" });
    expect(JSON.stringify((await client.callTool(approved)).content)).toContain("approval-used");
  });
});

describe("a task of a client that accepts a contract", () => {
  it("runs under the contract once an operator has approved it", async () => {
    const server = await openApproving();
    const post = async (method: string, params: Readonly<Record<string, unknown>>) =>
      (await server.post(method, params, { capabilities: TASKS }))["result"] ?? {};
    const { requestState } = await post("tools/call", AUDIT);
    const inputResponses = { contract: { action: "accept", content: {} } };
    const task = await post("tools/call", { ...AUDIT, requestState, inputResponses });
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    await server.approve(escalationIn(task));
    const done = await post("tasks/get", { taskId: task["taskId"] });
    expect(done).toMatchObject({
      status: "completed",
      result: { structuredContent: { verdict: "2 facts" } },
    });
  });
});
