/** Calls of MCP clients that wait: for an operator, or for work under way.   MCP Tasks extension */

import { createHash, X509Certificate } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { askOnce } from "../../support/daemon.ts";
import { endpointFile } from "../../support/deployment.ts";
import { DESK } from "../../support/gateway.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp } from "../../support/mcp.ts";
import { HANDLER_PROCESS } from "../../support/processes.ts";

afterEach(() => vi.restoreAllMocks());

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

interface Waiting extends TestMcp {
  decide(escalationId: string, status: string): Promise<void>;
}

async function openWaiting(tables: object = {}, name = "desk.echo"): Promise<Waiting> {
  const { cert, key } = await makeCertificate();
  const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  const fingerprint = createHash("sha256").update(spki).digest("hex");
  const identity = { operator_certificates: [fingerprint] };
  const book = {
    ...{ method: "BOOK", path: "/rooms/{room}", approval: "operator" },
    ...{ properties: { room: { type: "string" } }, required: ["room"] },
    handler: { type: "registered_function", function: name },
  };
  const server = await openMcp(
    mcpFiles(
      { ...tables, policies: { identity }, tls: { client_auth: "optional", client_ca: "ca.pem" } },
      { "ca.pem": cert, "endpoints/book.toml": endpointFile(book) },
    ),
  );
  return {
    ...server,
    decide: async (escalationId, status) => {
      const parameters = { escalation_id: escalationId, status };
      const reply = await askOnce(
        server,
        {
          ...{ method: "CONFIRM", path: "/" },
          body: JSON.stringify({ method: "CONFIRM", parameters }),
        },
        { cert, key },
      );
      expect([reply?.status, reply?.body]).toEqual([200, expect.anything()]);
    },
  };
}

type Answer = Record<string, Record<string, unknown>>;

async function send(server: TestMcp, method: string, params: object, capabilities = TASKS) {
  const response = await postMcp(server, method, { ...params }, { capabilities });
  return (await response.json()) as Answer;
}

async function begin(server: TestMcp): Promise<Record<string, unknown>> {
  const params = { name: "book_rooms", arguments: { room: "double" } };
  return (await send(server, "tools/call", params))["result"] ?? {};
}

async function get(server: TestMcp, taskId: unknown): Promise<Record<string, unknown>> {
  return (await send(server, "tasks/get", { taskId }))["result"] ?? {};
}

function escalationIn(text: unknown): string {
  return /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(text))?.[0] ?? "";
}

describe("a call that an operator has to approve", () => {
  it("is a task for a client that knows tasks, and runs once it was approved", async () => {
    const server = await openWaiting();
    const task = await begin(server);
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const { taskId } = task;
    expect(await get(server, taskId)).toMatchObject({ status: "working" });
    await server.decide(escalationIn(task), "accepted");
    const done = await get(server, taskId);
    expect(done).toMatchObject({
      status: "completed",
      result: { structuredContent: { method: "BOOK", path: "/rooms/double", agent_id: DESK } },
    });
    expect(await get(server, taskId)).toEqual(done);
  });

  // RFC 8259 §6
  it("ends with the numbers of the tool to the digit, however often it is asked for", async () => {
    const command = [process.execPath, HANDLER_PROCESS];
    const server = await openWaiting({ processes: [{ name: "rooms", command }] }, "rooms:long");
    const task = await begin(server);
    await server.decide(escalationIn(task), "accepted");
    for (const _ of [1, 2]) {
      const params = { taskId: task["taskId"] };
      const answer = await postMcp(server, "tasks/get", params, { capabilities: TASKS });
      const text = await answer.text();
      expect(text).toContain('"structuredContent":{"id":9007199254740993,"far":1e400}');
    }
  });

  it("ends with the refusal where an operator rejects it", async () => {
    const server = await openWaiting();
    const task = await begin(server);
    await server.decide(escalationIn(task), "rejected");
    const done = await get(server, task["taskId"]);
    expect(done).toMatchObject({ status: "completed", result: { isError: true } });
    expect(JSON.stringify(done)).toContain("approval-rejected");
  });

  it("goes on waiting where the store fails before the call begins", async () => {
    const server = await openWaiting();
    const task = await begin(server);
    await server.decide(escalationIn(task), "accepted");
    const fault = new StoreUnavailableError("unreachable", new Error("gone"));
    vi.spyOn(EscalationRegister.prototype, "use").mockRejectedValueOnce(fault);
    expect(await get(server, task["taskId"])).toMatchObject({ status: "working" });
    const done = await get(server, task["taskId"]);
    expect(done).toMatchObject({ status: "completed", result: { structuredContent: {} } });
  });

  it("goes on waiting while another call has its approval", async () => {
    const server = await openWaiting();
    const [one, other] = [await begin(server), await begin(server)];
    expect(escalationIn(other)).toBe(escalationIn(one));
    await server.decide(escalationIn(one), "accepted");
    let answer = (): void => undefined;
    const use = EscalationRegister.prototype.use;
    const begun = new Promise<void>((resolve) => {
      vi.spyOn(EscalationRegister.prototype, "use").mockImplementationOnce(async function (
        this: EscalationRegister,
        ...asked
      ) {
        resolve();
        await new Promise<void>((goOn) => {
          answer = goOn;
        });
        return use.apply(this, asked);
      });
    });
    const first = get(server, one["taskId"]);
    await begun;
    expect(await get(server, other["taskId"])).toMatchObject({ status: "working" });
    answer();
    expect(await first).toMatchObject({ status: "completed", result: { structuredContent: {} } });
    const second = await get(server, other["taskId"]);
    expect(second).toMatchObject({ status: "completed", result: { isError: true } });
    expect(JSON.stringify(second)).toContain('\\"outcome\\":\\"answered\\"');
  });

  it("is given up by its client, which must know tasks to see it", async () => {
    const server = await openWaiting();
    const { taskId } = await begin(server);
    const unaware = await send(server, "tasks/get", { taskId }, {} as typeof TASKS);
    expect(unaware["error"]).toMatchObject({ code: -32_021 });
    expect(await send(server, "tasks/cancel", { taskId })).toHaveProperty("result");
    expect(await get(server, taskId)).toMatchObject({ status: "cancelled" });
    const unknown = await send(server, "tasks/get", { taskId: "none" });
    expect(unknown["error"]).toMatchObject({ code: -32_602 });
  });

  it.each(["2026-07-28", "2025-11-25"] as const)(
    "is run by a tool of its own for a client of %s that knows no tasks",
    async (version) => {
      const server = await openWaiting();
      const client = await server.connectClient(version);
      const call = { name: "book_rooms", arguments: { room: "double" } };
      const asked = await client.callTool(call);
      expect(asked.isError).toBe(true);
      const escalationId = escalationIn(asked.content);
      const approved = { name: "agtp_approved_call", arguments: { escalation_id: escalationId } };
      expect((await client.callTool(approved)).isError).toBe(true);
      await server.decide(escalationId, "accepted");
      const done = await client.callTool(approved);
      expect(done.structuredContent).toMatchObject({ path: "/rooms/double" });
      expect(JSON.stringify((await client.callTool(approved)).content)).toContain("approval-used");
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("agtp_approved_call");
    },
  );
});
