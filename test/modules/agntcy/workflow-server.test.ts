/** What AGNTCY's own workflow server does that its protocol does not say, and what becomes of it here. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AgentRuns } from "../../../src/modules/agntcy/runs/agent-runs.ts";
import { type Attempt, send } from "../../support/acp-server.ts";
import {
  agentManifest,
  confirm,
  execute,
  MAIL_SPECS,
  MAYA,
  openAcp,
  openHosted,
  query,
  remote,
} from "../../support/agntcy.ts";
import { PATIENCE } from "../../support/patience.ts";
import { refusalOf } from "../../support/waiting.ts";

const CREATE = { method: "CREATE", path: "/mailcomposer/threads" };
const APPROVAL = { mail_send_approval: { subject: "Hello", body: "World" } };
const GO_ON = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };

function asksFirst({ answers }: Attempt) {
  return answers.length === 0 ? { interrupt: APPROVAL } : { success: { message: "sent" } };
}

describe("a parameter that is refused", () => {
  it("is done without from then on", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    for (let count = 0; count < 2; count += 1) {
      const id = (await ask(MAYA, CREATE)).body["thread_id"];
      expect((await ask(MAYA, execute({ thread_id: id }))).body["status"]).toBe("success");
    }
    const lists = server.seen.map(({ line }) => line).filter((line) => /\/runs(?:\?|$)/.test(line));
    expect(lists.filter((line) => line.includes("limit=")).length).toBe(1);
    expect(lists.filter((line) => /^GET .*\/runs$/.test(line)).length).toBeGreaterThan(1);
  });

  it("is sent where it is taken, because a list is short by itself", async () => {
    const server = await openAcp();
    server.fault = (request, response) => {
      const isList = /^\/threads\/[^/]+\/runs\?limit=100$/.test(request.url ?? "");
      if (isList) send(response, 200, []);
      return isList;
    };
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, CREATE)).body["thread_id"];
    expect((await ask(MAYA, execute({ thread_id: id }))).body["status"]).toBe("success");
    expect(server.seen.some(({ line }) => /^GET .*\/runs$/.test(line))).toBe(false);
  });
});

describe("CANCEL", () => {
  const described = { method: "DESCRIBE", path: "/mailcomposer" };

  it.each<[string, number, unknown, unknown, boolean]>([
    ["looks for the run", 404, { detail: "Run with ID x not found" }, "Not Found", true],
    ["says that the run is over", 409, { detail: "Conflict" }, "Not Found", true],
    ["does it for any run", 204, undefined, "Not Found", true],
    ["refuses how it is asked", 422, { detail: [] }, "Not Found", false],
    ["fails it", 500, { detail: "Not implemented" }, "Not Found", false],
    ["has no such path", 404, { detail: "Not Found" }, "Not Found", false],
    ["repeats the path", 404, { detail: "no /cancel" }, "no /agtp-x", false],
  ])("where a server %s is served or not", async (_, status, body, unknown, canCancel) => {
    const server = await openAcp();
    server.fault = (request, response) => {
      const { url = "" } = request;
      if (url.endsWith("/cancel")) send(response, status, body);
      else if (url.endsWith("/agtp-x")) send(response, 404, { detail: unknown });
      else return false;
      return true;
    };
    const { ask } = await openHosted(server);
    expect((await ask(MAYA, described)).body["capabilities"]).toMatchObject({ cancel: canCancel });
  });

  it("is not served by a server that describes itself without it", async () => {
    const server = await openAcp({ canCancel: true });
    server.fault = (request, response) => {
      if (request.url === "/openapi.json") send(response, 200, { paths: { "/runs": {} } });
      return request.url === "/openapi.json";
    };
    const { ask } = await openHosted(server);
    expect((await ask(MAYA, described)).body["capabilities"]).toMatchObject({ cancel: false });
  });
});

describe("a run of a thread", () => {
  it("that stops to ask before its server lists it is found all the same", async () => {
    const server = await openAcp({ script: asksFirst, listedAfter: 4 });
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, CREATE)).body["thread_id"];
    const asked = await ask(MAYA, execute({ thread_id: id }));
    expect(asked.body, asked.text).toMatchObject({ status: "interrupted", thread_id: id });
    const done = await ask(MAYA, confirm(asked.body["run_id"], GO_ON));
    expect(done.body["output"], done.text).toEqual({ message: "sent" });
    expect(server.runs.size).toBe(1);
  });

  it("that its server never lists is known when it is over", async () => {
    const server = await openAcp({ listedAfter: Number.POSITIVE_INFINITY });
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, CREATE)).body["thread_id"];
    expect((await ask(MAYA, execute({ thread_id: id }))).body["status"]).toBe("success");
  });

  it("finds the thread busy where only its server knows that it is", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, CREATE)).body["thread_id"];
    server.fault = (request, response) => {
      const isBegun = /^\/threads\/[^/]+\/runs\/wait$/.test(request.url ?? "");
      if (isBegun) send(response, 409, { detail: `Thread with ID ${id} has pending runs.` });
      return isBegun;
    };
    expect(refusalOf(await ask(MAYA, execute({ thread_id: id })))).toEqual([409, "thread_busy"]);
  });
});

describe("a thread", () => {
  it("stands as its run does, whatever its server says", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const id = (await ask(MAYA, CREATE)).body["thread_id"];
    const read = async () => {
      const reply = await ask(MAYA, { method: "QUERY", path: `/mailcomposer/threads/${id}` });
      return reply.body["status"];
    };
    const asked = await ask(MAYA, execute({ thread_id: id }));
    expect([asked.body["status"], await read()]).toEqual(["interrupted", "interrupted"]);
    server.script = () => "never";
    await ask(MAYA, confirm(asked.body["run_id"], { ...GO_ON, wait_seconds: 0 }));
    expect(await read()).toBe("busy");
  });
});

describe("what an agent says at once", () => {
  const script = ({ emit }: Attempt) => {
    emit({ count: 1 });
    emit({ count: 2 });
    return { success: { message: "done" } };
  };
  const eventsOf = async (options: Parameters<typeof openAcp>[0]) => {
    const server = await openAcp({ script, ...options });
    const { ask } = await openHosted(server);
    const runId = (await ask(MAYA, execute())).body["run_id"];
    return { events: (await ask(MAYA, query(runId, "/events"))).body, server };
  };

  it("is heard, because the run is begun by the call that streams it", async () => {
    const { events } = await eventsOf({});
    expect(events["events"]).toMatchObject([
      { type: "status", status: "pending" },
      { type: "values", values: { count: 1 } },
      { type: "values", values: { count: 2 } },
      { type: "status", status: "success" },
    ]);
    expect(events).toMatchObject({ is_over: true, is_complete: true });
    expect(events).not.toHaveProperty("may_lack_events");
  });

  it("may be lost where a server has no such call, and nobody says that it was all", async () => {
    const { events, server } = await eventsOf({ canStreamNew: false });
    expect(events).toMatchObject({ is_over: true, is_complete: false, may_lack_events: true });
    expect(server.seen.some(({ line }) => line === "POST /runs")).toBe(true);
  });

  it("is complete where the agent streams nothing", async () => {
    const specs = { ...MAIL_SPECS, capabilities: { threads: true, interrupts: true } };
    const server = await openAcp({ specs });
    const manifest = (url: string) => agentManifest({ specs, options: [remote(url)] });
    const { ask } = await openHosted(server, { manifest });
    const runId = (await ask(MAYA, execute())).body["run_id"];
    const { body } = await ask(MAYA, query(runId, "/events"));
    expect(body).toMatchObject({ is_over: true, is_complete: true });
  });
});

describe("a run that is begun by the call that streams it", () => {
  it("is known at once though its agent says nothing", async () => {
    const server = await openAcp({ script: () => "never" });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute({ wait_seconds: 0 }));
    expect([reply.status, reply.body["status"]], reply.text).toEqual([202, "pending"]);
    expect(server.runs.size).toBe(1);
  });

  it("is listened to no longer where it could not be kept", async () => {
    const server = await openAcp({ script: () => "never" });
    const left = new Promise<void>((resolve) => {
      server.fault = (request, response) => {
        if (request.url === "/runs/stream") response.on("close", resolve);
        return false;
      };
    });
    const { ask } = await openHosted(server);
    vi.spyOn(AgentRuns.prototype, "keep").mockRejectedValueOnce(new Error("disk I/O error"));
    onTestFinished(() => void vi.restoreAllMocks());
    expect((await ask(MAYA, execute())).status).toBe(500);
    await left;
  });

  it("is found though its stream ends without a word, because it asks", async () => {
    const server = await openAcp({ script: asksFirst });
    const { ask } = await openHosted(server);
    const asked = await ask(MAYA, execute());
    expect(asked.body["status"], asked.text).toBe("interrupted");
    const done = await ask(MAYA, confirm(asked.body["run_id"], GO_ON));
    expect(done.body["output"], done.text).toEqual({ message: "sent" });
  });

  it("is found though it is over, and its stream is left open without a word", async () => {
    const server = await openAcp({ leavesStreams: true });
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, execute());
    expect(reply.body["output"], reply.text).toEqual({ message: "done" });
  });

  it.each<[string, Parameters<typeof send>[1], boolean]>([
    ["is not there", 404, false],
    ["fails before it has begun anything", 500, false],
    ["fails after it has begun the run", 500, true],
    ["answers something else after it has begun the run", 200, true],
  ])("is begun once where that call %s", async (_, status, isBegun) => {
    const server = await openAcp({ isPlain: true });
    const { ask } = await openHosted(server, { settings: { allow_http: true } });
    expect((await ask(MAYA, execute())).status).toBe(200);
    const before = server.runs.size;
    server.fault = (request, response) => {
      if (request.url !== "/runs/stream") return false;
      // The run is created before the answer that says nothing of it.
      const begun = isBegun ? createRun(server.url, request.json) : Promise.resolve();
      void begun.then(() => send(response, status, { detail: "Oh" }));
      return true;
    };
    const reply = await ask(MAYA, execute());
    expect(reply.body["status"], reply.text).toBe("success");
    expect(server.runs.size).toBe(before + 1);
  });
});

describe("the answer to waiting for a run", () => {
  it("may tell its output alone, whose type says how the run stands", async () => {
    const server = await openAcp({ script: asksFirst });
    server.fault = ({ url = "" }, response) => {
      const [, id = ""] = /^\/runs\/([^/]+)\/wait$/.exec(url) ?? [];
      const run = server.runs.get(id);
      if (run === undefined) return false;
      const isOver = () => expect(run.status).not.toBe("pending");
      void vi.waitFor(isOver, PATIENCE).then(() => send(response, 200, { output: run.output }));
      return true;
    };
    const { ask } = await openHosted(server);
    const asked = await ask(MAYA, execute());
    expect(asked.body["interrupt_type"], asked.text).toBe("mail_send_approval");
    const done = await ask(MAYA, confirm(asked.body["run_id"], GO_ON));
    expect(done.body["output"], done.text).toEqual({ message: "sent" });
    server.script = () => ({ error: "it hurts" });
    const failed = await ask(MAYA, execute());
    const details = failed.body["error"]?.["details"];
    expect([failed.status, details?.["description"]], failed.text).toEqual([422, "it hurts"]);
  });
});

async function createRun(url: string, json: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  await fetch(`${url}/runs`, { method: "POST", headers, body: JSON.stringify(json) });
}
