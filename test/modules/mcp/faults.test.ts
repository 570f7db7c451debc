/** Faults of this server before and after the pipeline: the client has an id, the log the cause. */
import { createMcpHandler, ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import { MODULES } from "../../../src/app/modules.ts";
import type { AnyModule } from "../../../src/app/provision.ts";
import { McpState } from "../../../src/modules/mcp/mcp-state.ts";
import { mcpModule } from "../../../src/modules/mcp/module.ts";
import { OpaqueServer } from "../../../src/modules/mcp/opaque-server.ts";
import { reportingTo } from "../../../src/modules/mcp/report-fault.ts";
import { makeOperator, waysFiles } from "../../support/approval-ways.ts";
import { openDaemon, type TestDaemon } from "../../support/daemon.ts";
import { openMcp, postMcp } from "../../support/mcp.ts";
import { beginSession, inSession, message, messageOf, post } from "../../support/mcp-session.ts";

const OPERATOR = makeOperator();
const SECRET = "/srv/secret/state.db is locked";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** MCP, whose tasks cannot be kept and cannot be read, for a reason that is nobody's business. */
const failing: AnyModule = {
  ...mcpModule,
  provision: (context) =>
    mcpModule.provision({
      ...context,
      once: async (open) => {
        const kept = await context.once(open);
        if (!(kept instanceof McpState)) return kept;
        const { tasks } = kept;
        vi.spyOn(tasks, "add").mockRejectedValue(new Error(SECRET));
        vi.spyOn(tasks, "get").mockImplementation(() => {
          throw new TypeError(SECRET);
        });
        return kept;
      },
    }),
};

interface Answer {
  readonly error?: { readonly code: number; readonly message: string; readonly data: object };
}

async function openFailing(): Promise<
  TestDaemon & Pick<Awaited<ReturnType<typeof openMcp>>, "fetch">
> {
  const modules = MODULES.map((one) => (one.name === "mcp" ? failing : one));
  const server = await openDaemon(await waysFiles(OPERATOR), {}, modules);
  const base = `http://127.0.0.1:${server.daemon.gatewayPort}`;
  return { ...server, fetch: (path, init) => fetch(`${base}${path}`, init) };
}

describe("a fault of the server", () => {
  const call = { name: "book", arguments: { room: "7", guest: "Ada" } };

  it.each([
    ["tools/call", call],
    ["tools/call", { ...call, _meta: { progressToken: 1 } }],
    ["tasks/get", { taskId: "t" }],
    ["tasks/cancel", { taskId: "t" }],
  ])("in %s is named by an id, under which the log has its cause", async (method, params) => {
    const server = await openFailing();
    const response = await postMcp(server, method, params, { capabilities: TASKS });
    const text = await response.text();
    expect(text).not.toContain("secret");
    const json = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "");
    const { error } = JSON.parse(json) as Answer;
    expect(error).toMatchObject({ code: -32_603, message: "the server failed to answer" });
    const { error_id: errorId } = (error?.data ?? {}) as { readonly error_id?: string };
    const faults = server.log.filter((line) => line["error_id"] === errorId);
    expect(faults).toMatchObject([{ event: "fault", request_id: "1", level: "error" }]);
    expect(JSON.stringify(faults)).toContain(SECRET);
  });
});

describe("the library's server", () => {
  async function answerOf(handler: () => object): Promise<readonly [Answer, readonly object[]]> {
    const logged: object[] = [];
    const report = reportingTo({ error: (fields) => void logged.push(fields) });
    const create = (): OpaqueServer => {
      const options = { capabilities: { tools: {} } };
      const server = new OpaqueServer(
        { name: "a-test", version: "1" },
        options,
        (thrown, context) => report(thrown, context.mcpReq.id),
      );
      server.setRequestHandler("tools/call", () => handler() as never);
      return server;
    };
    const { fetch } = createMcpHandler(create, { legacy: "reject" });
    const asking = {
      fetch: (path: string, init?: RequestInit) =>
        fetch(new Request(`http://localhost${path}`, init)),
    };
    const response = await postMcp(asking, "tools/call", { name: "any", arguments: {} });
    return [(await response.json()) as Answer, logged];
  }

  it("keeps what a handler throws, and what is wrong with its result, to itself", async () => {
    for (const handler of [
      () => {
        throw new Error(SECRET);
      },
      () => ({ content: SECRET }),
      () => ({ resultType: "input_required" }),
    ]) {
      const [answer, logged] = await answerOf(handler);
      expect(answer.error).toMatchObject({ code: -32_603, message: "the server failed to answer" });
      expect(logged).toMatchObject([{ event: "fault", request_id: "1", error: expect.any(Error) }]);
    }
  });

  it("hands on what a handler says by the protocol", async () => {
    const [answer, logged] = await answerOf(() => {
      throw new ProtocolError(-32_602, "no such tool");
    });
    expect(answer.error).toMatchObject({ code: -32_602, message: "no such tool" });
    expect(logged).toEqual([]);
  });
});

describe("parameters that the library itself judges", () => {
  it("are the client's, whatever is wrong with them", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    const asked = message("logging/setLevel", { level: 7 });
    const { error } = await messageOf(await post(server, asked, inSession(id)));
    expect(error).toEqual({ code: -32_602, message: "Invalid params for logging/setLevel" });
    expect(server.log.filter(({ event }) => event === "fault")).toEqual([]);
  });
});
