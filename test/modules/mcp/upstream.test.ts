/** MCP servers behind tools: what they say in the middle of a call reaches those who are to hear it. */

import { createHash, X509Certificate } from "node:crypto";
import type { Progress } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { definitionPin } from "../../../src/handlers/mcp/tool-pins.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { askOnce } from "../../support/daemon.ts";
import { endpointFile } from "../../support/deployment.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp } from "../../support/mcp.ts";
import { ASKING, HOSTILE } from "../../support/mcp-upstream.ts";

const ERRORS = [
  ...["upstream_error", "upstream_timeout", "upstream_connection_error"],
  ...["upstream_authentication_failed", "upstream_malformed_response"],
  "upstream_definition_changed",
];
const WORK = { name: "work", description: "Works.", inputSchema: { type: "object" } };
const RESERVE = {
  name: "reserve",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

interface Asking extends TestMcp {
  answer(escalationId: string, content: object): Promise<void>;
}

async function openBehind(script: string, play = ""): Promise<Asking> {
  const { cert, key } = await makeCertificate();
  const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  const fingerprint = createHash("sha256").update(spki).digest("hex");
  const definition = script === ASKING ? RESERVE : WORK;
  const env = { TOKEN: "s3cr3t-token" };
  const servers = [{ name: "tools", command: process.execPath, args: [script, play], env }];
  const handler = {
    ...{ type: "mcp_tool", server: "tools", tool: definition.name },
    definition: definitionPin(definition),
  };
  const server = await openMcp(
    mcpFiles(
      {
        mcp: { enabled: true, anonymous: true, servers },
        policies: { identity: { operator_certificates: [fingerprint] } },
        tls: { client_auth: "optional", client_ca: "ca.pem" },
      },
      {
        "ca.pem": cert,
        "endpoints/tool.toml": endpointFile({
          ...{ method: "PROCESS", path: "/work", errors: ERRORS, handler },
          properties: { city: { type: "string" } },
        }),
      },
    ),
  );
  const answer: Asking["answer"] = async (target_id, content) => {
    const body = { target_id, status: "accepted", content };
    const reply = await askOnce(server, { method: "CONFIRM", path: "/", body }, { cert, key });
    expect([reply?.status, reply?.text]).toEqual([200, expect.anything()]);
  };
  return { ...server, answer };
}

const VERSIONS = ["2026-07-28", "2025-11-25"] as const;
const escalationIn = (told: unknown): string =>
  /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(told))?.[0] ?? "";

describe("a server behind a tool", () => {
  it.each(VERSIONS)("tells a client of %s how far it is, in bounds", async (version) => {
    const server = await openBehind(HOSTILE, "progresses");
    const client = await server.connectClient(version);
    const heard: Progress[] = [];
    await client.callTool({ name: "process_work" }, { onprogress: (one) => heard.push(one) });
    expect(heard[0]).toMatchObject({ progress: 1, total: 5 });
    expect(heard[0]?.message).toMatch(/^\[secret\] x+$/);
    expect(heard[0]?.message?.length).toBe(256);
    const steps = heard.map(({ progress }) => progress);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    expect([steps[0], steps.at(-1)]).toEqual([1, 5]);
    // The server has told of 401 steps, none of which took long.
    expect(steps.length).toBeLessThan(100);
  });

  it.each(VERSIONS)("is told that a client of %s has cancelled the call", async (version) => {
    const server = await openBehind(HOSTILE, "cancels");
    const client = await server.connectClient(version);
    const leaving = new AbortController();
    const { signal } = leaving;
    const onprogress = (): void => leaving.abort();
    await expect(
      client.callTool({ name: "process_work" }, { signal, onprogress }),
    ).rejects.toThrow();
    // The server answers the second call once it has heard that the first is cancelled.
    const done = await client.callTool({ name: "process_work" });
    expect(JSON.stringify(done.content)).toContain("cancelled");
  });
});

describe("a server that asks in the middle of a call", () => {
  it("makes a task of it, which goes on with each answer of an operator", async () => {
    const server = await openBehind(ASKING);
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const send = async (method: string, params: object): Promise<Record<string, unknown>> => {
      const response = await postMcp(server, method, { ...params }, { capabilities });
      return ((await response.json()) as { result: Record<string, unknown> }).result;
    };
    const call = { name: "process_work", arguments: { city: "Rome" } };
    const task = await send("tools/call", call);
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const { taskId } = task;
    await server.answer(escalationIn(task), { seat: "aisle" });
    const further = await send("tasks/get", { taskId });
    expect(further).toMatchObject({ status: "working" });
    expect(escalationIn(further)).not.toBe(escalationIn(task));
    await server.answer(escalationIn(further), { pay: true });
    const done = await send("tasks/get", { taskId });
    expect(done).toMatchObject({ status: "completed" });
    expect(JSON.stringify(done["result"])).toContain("aisle");
  });

  it.each(VERSIONS)(
    "is gone on with by a tool for a client of %s without tasks",
    async (version) => {
      const server = await openBehind(ASKING);
      const client = await server.connectClient(version);
      const asked = await client.callTool({ name: "process_work", arguments: { city: "Rome" } });
      expect(asked.isError).toBe(true);
      const escalationId = escalationIn(asked.content);
      await server.answer(escalationId, { seat: "window" });
      const approved = { name: "agtp_approved_call", arguments: { escalation_id: escalationId } };
      const further = await client.callTool(approved);
      expect(JSON.stringify(further.content)).toContain("pay");
      const second = escalationIn(further.content);
      await server.answer(second, { pay: false });
      const last = { name: "agtp_approved_call", arguments: { escalation_id: second } };
      expect(JSON.stringify((await client.callTool(last)).content)).toContain("window");
    },
  );
});
