/** Runs of an agent through a daemon: over TLS on the one side, over HTTPS on the other. */
import { describe, expect, it } from "vitest";
import type { Attempt } from "../../support/acp-server.ts";
import { send } from "../../support/acp-server.ts";
import {
  agentManifest,
  askThrough,
  confirm,
  execute,
  LEO,
  MAIL_SPECS,
  MAYA,
  OLGA,
  openAcp,
  openHosted,
  query,
  remote,
} from "../../support/agntcy.ts";
import { refusalOf } from "../../support/waiting.ts";

const APPROVAL = { mail_send_approval: { subject: "Hello", body: "World" } };

/** Asks before it sends. */
function asksFirst({ answers }: Attempt) {
  return answers.length === 0 ? { interrupt: APPROVAL } : { success: { message: "sent" } };
}

describe("EXECUTE on an agent's path", () => {
  it("answers 200 with the output of a run that ends while the caller waits", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute({ config: { style: "formal" }, metadata: { k: "v" } }));
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body).toMatchObject({ status: "success", output: { message: "done" } });
    const created = server.seen.find(({ line }) => line === "POST /runs/stream");
    expect(created?.json).toMatchObject({
      agent_id: server.agentId,
      input: { message: "hi" },
      config: { configurable: { style: "formal" } },
      metadata: { k: "v", agtp_run_id: reply.body["run_id"] },
    });
  });

  it("answers 202 with the run's id at once where the caller does not wait", async () => {
    const server = await openAcp({ script: () => "never" });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute({ wait_seconds: undefined }));
    expect([reply.status, reply.body["status"]]).toEqual([202, "pending"]);
    const read = await ask(MAYA, query(reply.body["run_id"]));
    expect([read.status, read.body["status"]]).toEqual([200, "pending"]);
  });

  it("tells the agent's server nothing about who asks", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    await ask(MAYA, execute());
    expect(JSON.stringify(server.seen)).not.toContain(MAYA);
  });

  it("holds the input to the manifest's schemas, each under its own member", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const wrong = await ask(MAYA, execute({ input: { message: 7 }, config: { style: "rude" } }));
    expect(refusalOf(wrong)).toEqual([422, "schema-validation-failed"]);
    const paths = wrong.body["error"]?.["details"]?.["errors"] as unknown as { path: string }[];
    expect(paths.map(({ path }) => path)).toEqual(["/input/message", "/config/style"]);
    const unknown = await ask(MAYA, execute({ inputs: {} }));
    expect(refusalOf(unknown)).toEqual([422, "schema-validation-failed"]);
    expect(server.seen.some(({ line }) => line === "POST /runs")).toBe(false);
  });

  it("asks for the scopes that the operator requires", async () => {
    const server = await openAcp();
    const settings = { required_scopes: ["mailcomposer:other"] };
    const { ask } = await openHosted(server, { settings });
    expect(refusalOf(await ask(MAYA, execute()))).toEqual([455, "scope-violation"]);
  });

  it("believes an error only when it stays one", async () => {
    const server = await openAcp({
      script: ({ attempt }) =>
        attempt < 3 ? { error: "flaky" } : { success: { message: "third time" } },
    });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body["output"]).toEqual({ message: "third time" });
  });

  it("answers agent_run_failed, and finds out when it became a success after all", async () => {
    const server = await openAcp({ script: () => ({ error: "no such mailbox" }) });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "agent_run_failed"]);
    const details = reply.body["error"]?.["details"];
    expect(details).toMatchObject({
      ...{ errcode: 1, description: "no such mailbox", may_be_retried_upstream: true },
      status: "error",
    });
    for (const run of server.runs.values()) {
      run.status = "success";
      run.output = { type: "result", values: { message: "late" } };
    }
    const read = await ask(MAYA, query(details?.["run_id"]));
    expect(read.body).toMatchObject({ status: "success", output: { message: "late" } });
    expect(read.body["error"]).toBeUndefined();
  });

  it("takes an output that the manifest does not declare for the server's mistake", async () => {
    const server = await openAcp({ script: () => ({ success: { message: 5 } }) });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "upstream_malformed_response"]);
    expect(reply.text).toContain("/message must be string");
  });

  it("gives a run up that takes longer than the operator allows", async () => {
    const server = await openAcp({ script: () => "never" });
    const { ask } = await openHosted(server, { settings: { timeout_seconds: 1 } });
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "upstream_timeout"]);
    const runId = reply.body["error"]?.["details"]?.["run_id"];
    expect((await ask(MAYA, query(runId))).body["status"]).toBe("timeout");
  });

  it("is answered once under an Idempotency-Key", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const headers = { "Idempotency-Key": "one" };
    const first = await ask(MAYA, { ...execute(), headers });
    const second = await ask(MAYA, { ...execute(), headers });
    expect(second.body["run_id"]).toBe(first.body["run_id"]);
    expect(server.runs.size).toBe(1);
  });

  it("works for agents whose input and output are no objects, and refer to definitions", async () => {
    const specs = {
      capabilities: {},
      input: { $defs: { Word: { type: "string", minLength: 2 } }, $ref: "#/$defs/Word" },
      output: { type: "array", items: { $ref: "#/$defs/N" }, $defs: { N: { type: "integer" } } },
      config: { type: "object" },
    };
    const server = await openAcp({ specs, script: () => ({ success: [1, 2] }) });
    const manifest = (url: string) => agentManifest({ specs, options: [remote(url)] });
    const { ask } = await openHosted(server, { manifest });
    const reply = await ask(MAYA, execute({ input: "hello" }));
    expect(reply.body, reply.text).toMatchObject({ status: "success", output: [1, 2] });
    expect((await ask(MAYA, execute({ input: "h" }))).status).toBe(422);
  });
});

describe("a run that stops to ask", () => {
  it("is told with its question, and goes on with its owner's answer", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const asked = await ask(MAYA, execute());
    expect(asked.status, asked.text).toBe(202);
    expect(asked.body).toMatchObject({
      status: "interrupted",
      interrupt_type: "mail_send_approval",
      payload: { subject: "Hello", body: "World" },
      resume_schema: { required: ["approved"] },
    });
    const runId = asked.body["run_id"];
    const answer = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };
    const done = await ask(MAYA, confirm(runId, answer));
    expect(done.body, done.text).toMatchObject({ status: "success", output: { message: "sent" } });
    expect([...server.runs.values()][0]?.answers).toEqual([{ approved: true }]);
    const again = await ask(MAYA, confirm(runId, answer));
    expect(refusalOf(again)).toEqual([409, "run_not_interrupted"]);
  });

  it("takes no value but one that its interrupt declares", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    const wrong = [
      { status: "accepted" },
      { status: "accepted", resume_value: {} },
      { status: "accepted", resume_value: { approved: "yes" } },
      { status: "accepted", resume_value: { approved: false } },
      { status: "rejected", resume_value: { approved: true } },
      { status: "deferred", resume_value: { approved: true } },
      { status: "maybe", resume_value: { approved: true } },
    ];
    for (const body of wrong) {
      const reply = await ask(MAYA, confirm(runId, body));
      expect(refusalOf(reply), JSON.stringify(body)).toEqual([422, "schema-validation-failed"]);
    }
    expect([...server.runs.values()][0]?.answers).toEqual([]);
    const deferred = await ask(MAYA, confirm(runId, { status: "deferred", reason: "tomorrow" }));
    expect([deferred.status, deferred.body["status"]]).toEqual([202, "interrupted"]);
  });

  it("is answered once by two at a time", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask, daemon } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    const answer = { status: "accepted", resume_value: { approved: true } };
    const other = askThrough(await daemon.connect());
    const replies = await Promise.all([ask, other].map((one) => one(MAYA, confirm(runId, answer))));
    const [, late] = replies.toSorted((one, two) => one.status - two.status);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([202, 409]);
    expect(late?.text).not.toContain("is interrupted, and does not wait");
    expect([...server.runs.values()][0]?.answers.length).toBe(1);
  });

  it("may ask again", async () => {
    const server = await openAcp({
      script: ({ answers }) =>
        answers.length < 2 ? { interrupt: APPROVAL } : { success: { message: "sent" } },
    });
    const { ask } = await openHosted(server);
    const first = await ask(MAYA, execute());
    const answer = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };
    const second = await ask(MAYA, confirm(first.body["run_id"], answer));
    expect(second.body["status"]).toBe("interrupted");
    expect(second.body["interrupt_id"]).not.toBe(first.body["interrupt_id"]);
    const third = await ask(MAYA, confirm(first.body["run_id"], answer));
    expect(third.body["status"]).toBe("success");
  });

  it("is found out to have been answered elsewhere", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    for (const run of server.runs.values()) {
      run.status = "success";
      run.output = { type: "result", values: { message: "by hand" } };
    }
    const answer = { status: "accepted", resume_value: { approved: true } };
    expect(refusalOf(await ask(MAYA, confirm(runId, answer)))).toEqual([
      409,
      "run_not_interrupted",
    ]);
    const read = await ask(MAYA, query(runId));
    expect(read.body["output"]).toEqual({ message: "by hand" });
  });

  it("goes on where the receipt of the answer was lost", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const asked = await ask(MAYA, execute());
    const upstream = [...server.runs.keys()][0];
    server.fault = (request, response) => {
      if (request.method !== "POST" || request.url !== `/runs/${upstream}`) return false;
      server.fault = undefined;
      const run = server.runs.get(String(upstream));
      if (run !== undefined)
        Object.assign(run, { status: "success", output: { type: "result", values: {} } });
      response.destroy();
      return true;
    };
    const answer = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };
    const done = await ask(MAYA, confirm(asked.body["run_id"], answer));
    expect([done.status, done.body["status"]], done.text).toEqual([200, "success"]);
  });

  it.each([
    ["without its type", { subject: "Hello", body: "World" }],
    ["that says nothing", undefined],
  ])("for a question %s is told by the manifest", async (_, interrupt) => {
    const server = await openAcp({ script: () => ({ interrupt: interrupt ?? {} }) });
    const { ask } = await openHosted(server);
    if (interrupt === undefined) {
      server.fault = (request, response) => {
        if (request.url?.endsWith("/wait") !== true) return false;
        send(response, 500, "Internal Server Error");
        return true;
      };
    }
    const asked = await ask(MAYA, execute());
    expect(asked.body, asked.text).toMatchObject({ interrupt_type: "mail_send_approval" });
  });

  it("for something that nobody declared has failed", async () => {
    const server = await openAcp({ script: () => ({ interrupt: { other: { a: 1 } } }) });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "upstream_malformed_response"]);
  });
});

describe("a run", () => {
  it("is there for the agent that started it, and for those who see everything", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    const answer = { status: "accepted", resume_value: { approved: true } };
    for (const request of [query(runId), query(runId, "/events"), confirm(runId, answer)]) {
      expect(refusalOf(await ask(LEO, request))).toEqual([404, "run_not_found"]);
    }
    expect((await ask(OLGA, query(runId))).status).toBe(200);
    expect((await ask(OLGA, confirm(runId, answer))).status).toBe(202);
    expect(refusalOf(await ask(MAYA, query("none")))).toEqual([404, "run_not_found"]);
    const mine = { method: "QUERY", path: "/", body: { intent: "run", scope: ["agntcy-runs"] } };
    expect((await ask(MAYA, mine)).text).toContain(String(runId));
    expect((await ask(LEO, mine)).text).not.toContain(String(runId));
  });

  it("tells what happened in it page by page", async () => {
    const server = await openAcp({
      script: async ({ emit }) => {
        await server.heard(/^GET \/runs\/[^/]+\/wait$/);
        for (const count of [1, 2, 3]) emit({ count });
        return { success: { message: "done" } };
      },
    });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    const first = await ask(MAYA, query(runId, "/events?limit=3"));
    const events = first.body["events"] as unknown as Record<string, unknown>[];
    expect(events.map(({ type }) => type)).toEqual(["status", "values", "values"]);
    expect(events[1]).toMatchObject({ sequence: 2, values: { count: 1 } });
    expect(first.body["is_complete"]).toBe(false);
    const token = first.headers.get("continuation-token") ?? "";
    const headers = { "Continuation-Token": token };
    const second = await ask(MAYA, { ...query(runId, "/events"), headers });
    const rest = second.body["events"] as unknown as Record<string, unknown>[];
    expect(rest.map(({ type, status }) => [type, status])).toEqual([
      ["values", undefined],
      ["status", "success"],
    ]);
    expect(second.body["is_complete"]).toBe(true);
    const bad = { ...query(runId, "/events"), headers: { "Continuation-Token": "x" } };
    expect((await ask(MAYA, bad)).status).toBe(400);
  });

  it("is told of at once where its server sends nothing before the agent says something", async () => {
    const server = await openAcp({
      sendsHeadLate: true,
      script: async ({ emit }) => {
        await server.heard(/^GET \/runs\/[^/]+\/wait$/);
        emit({ count: 1 });
        return { success: { message: "done" } };
      },
    });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect([reply.status, reply.body["status"]]).toEqual([200, "success"]);
    const { body } = await ask(MAYA, query(reply.body["run_id"], "/events"));
    const events = body["events"] as unknown as Record<string, unknown>[];
    expect(events.map(({ values, status }) => values ?? status)).toEqual([
      ...["pending", { count: 1 }, "success"],
    ]);
    expect(body["is_complete"]).toBe(true);
  });

  it("comes to its end whatever its stream does", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const streams: ((response: Parameters<typeof send>[0]) => void)[] = [
      (response) => send(response, 500, { detail: "Not implemented" }),
      (response) => response.destroy(),
      () => undefined,
      (response) => response.writeHead(200, { "content-type": "text/event-stream" }).write(":"),
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`data: ${"x".repeat(300_000)}\n\ndata: {bad\n\nevent: values\ndata: 7\n\n`);
      },
    ];
    for (const stream of streams) {
      server.fault = (request, response) => {
        if (request.url?.endsWith("/stream") !== true) return false;
        stream(response);
        return true;
      };
      expect((await ask(MAYA, execute())).body["status"]).toBe("success");
    }
  });
});

// AGTP-API §12.3, Table 8
describe("a server that does not do as ACP says", () => {
  const faults: readonly [string, string, (response: Parameters<typeof send>[0]) => void][] = [
    [
      "redirects",
      "upstream_error",
      (one) => one.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
    ],
    ["fails", "upstream_error", (one) => send(one, 500, "<h1>Oh no</h1>")],
    [
      "refuses the credentials",
      "upstream_authentication_failed",
      (one) => send(one, 401, { detail: "no" }),
    ],
    ["forbids", "upstream_authentication_failed", (one) => send(one, 403, undefined)],
    ["hangs up", "upstream_connection_error", (one) => one.destroy()],
    ["answers no JSON", "upstream_malformed_response", (one) => send(one, 200, "hello")],
    [
      "answers something else",
      "upstream_malformed_response",
      (one) => send(one, 200, { ok: true }),
    ],
    ["answers nothing", "upstream_malformed_response", (one) => send(one, 200, undefined)],
    ["answers at endless length", "upstream_error", (one) => send(one, 200, "x".repeat(1_200_000))],
    [
      "nests its answer without end",
      "upstream_malformed_response",
      (one) => {
        one.writeHead(200, { "content-type": "application/json" });
        one.end(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
      },
    ],
    [
      "names a prototype",
      "upstream_malformed_response",
      (one) => {
        one.writeHead(200, { "content-type": "application/json" });
        one.end('{"run_id":"a","status":"pending","__proto__":{"polluted":true}}');
      },
    ],
    [
      "makes up an id that leads elsewhere",
      "upstream_malformed_response",
      (one) => send(one, 200, { run_id: "..", agent_id: "a", status: "pending" }),
    ],
  ];

  it.each(faults)("that %s is %s", async (_, error, answer) => {
    const server = await openAcp({ canStreamNew: false });
    const { ask } = await openHosted(server);
    server.fault = (request, response) => {
      if (request.url !== "/runs") return false;
      answer(response);
      return true;
    };
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply), reply.text).toEqual([422, error]);
    server.fault = undefined;
    expect((await ask(MAYA, execute())).status).toBe(200);
  });

  it("is asked again while it waits for a run, and given up in the end", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    let failures = 2;
    server.fault = (request, response) => {
      if (request.url?.endsWith("/wait") !== true || failures === 0) return false;
      failures -= 1;
      send(response, 502, "bad gateway");
      return true;
    };
    expect((await ask(MAYA, execute())).status).toBe(200);
    failures = Number.POSITIVE_INFINITY;
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "upstream_error"]);
  });

  it("may say that nothing has happened yet, in two ways", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const answers = [204, 200];
    server.fault = (request, response) => {
      const status = request.url?.endsWith("/wait") === true ? answers.pop() : undefined;
      if (status === undefined) return false;
      send(
        response,
        status,
        status === 204 ? undefined : { run: { status: "pending" }, output: null },
      );
      return true;
    };
    expect((await ask(MAYA, execute())).status).toBe(200);
  });

  it("may have forgotten the run", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    server.fault = (request) => {
      if (request.url?.endsWith("/wait") === true) server.runs.clear();
      return false;
    };
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "upstream_error"]);
    expect(reply.text).toContain("knows nothing of the run any more");
  });
});

describe("CANCEL", () => {
  it("is there where the agent's server calls runs off", async () => {
    const server = await openAcp({ script: () => "never", canCancel: true });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
    const cancel = { method: "CANCEL", path: `/mailcomposer/runs/${runId}` };
    expect(refusalOf(await ask(LEO, cancel))).toEqual([404, "run_not_found"]);
    expect((await ask(MAYA, cancel)).body["status"]).toBe("cancelled");
    expect((await ask(MAYA, query(runId))).body["status"]).toBe("cancelled");
    expect((await ask(MAYA, cancel)).status).toBe(200);
    expect(server.seen.some(({ line }) => line.endsWith("/cancel"))).toBe(true);
  });

  it("is not where nobody wrote it", async () => {
    const server = await openAcp({ script: () => "never" });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
    const cancel = { method: "CANCEL", path: `/mailcomposer/runs/${runId}` };
    expect((await ask(MAYA, cancel)).status).toBe(405);
    const describe = await ask(MAYA, { method: "DESCRIBE", path: "/mailcomposer" });
    expect(describe.body["capabilities"]?.["cancel"]).toBe(false);
  });
});

describe("threads", () => {
  const create = {
    method: "CREATE",
    path: "/mailcomposer/threads",
    body: { metadata: { a: "b" } },
  };

  it("belong to the agent that created them, and take one run at a time", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const thread = await ask(MAYA, create);
    expect(thread.status, thread.text).toBe(200);
    expect(thread.body["metadata"]).toEqual({ a: "b" });
    const id = thread.body["thread_id"];
    const read = { method: "QUERY", path: `/mailcomposer/threads/${id}` };
    expect((await ask(MAYA, read)).body["thread_id"]).toBe(id);
    expect(refusalOf(await ask(LEO, read))).toEqual([404, "thread_not_found"]);
    const foreign = await ask(LEO, execute({ thread_id: id }));
    expect(refusalOf(foreign)).toEqual([404, "thread_not_found"]);

    const asked = await ask(MAYA, execute({ thread_id: id }));
    expect(asked.body, asked.text).toMatchObject({ status: "interrupted", thread_id: id });
    expect(refusalOf(await ask(MAYA, execute({ thread_id: id })))).toEqual([409, "thread_busy"]);
    const answer = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };
    const done = await ask(MAYA, confirm(asked.body["run_id"], answer));
    expect(done.body["status"], done.text).toBe("success");
    expect(server.runs.size).toBe(1);
  });

  it("have runs that end without asking", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, create)).body["thread_id"];
    const done = await ask(MAYA, execute({ thread_id: id }));
    expect([done.status, done.body["status"]], done.text).toEqual([200, "success"]);
  });

  it("are not there for agents that keep none", async () => {
    const { thread_state: _, ...rest } = MAIL_SPECS;
    const specs = { ...rest, capabilities: { ...rest.capabilities, threads: false } };
    const server = await openAcp({ specs });
    const manifest = (url: string) => agentManifest({ specs, options: [remote(url)] });
    const { ask } = await openHosted(server, { manifest });
    expect((await ask(MAYA, create)).status).toBe(404);
    const run = await ask(MAYA, execute({ thread_id: "x" }));
    expect(refusalOf(run)).toEqual([422, "schema-validation-failed"]);
  });
});
