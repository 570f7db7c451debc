/** The console of a daemon, over HTTP: who comes in, what it shows, and what an operator changes. */
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { decodeJws } from "../../src/identity/jws.ts";
import { Collection } from "../../src/state/collection.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { ALMA, approvingFiles, BORIS, booking, ranIn, under } from "../support/approving.ts";
import { CONSOLE, openConsole, type TestConsole } from "../support/console.ts";
import type { RawClient } from "../support/daemon.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";

const open = async (tables: object = {}): Promise<TestConsole> =>
  openConsole(await approvingFiles([], { ...CONSOLE, ...tables }));

async function ask(daemon: TestConsole, agent: string, request: TestRequest): Promise<TestReply> {
  const client: RawClient = await daemon.connect();
  client.write(encodeRequest({ ...request, headers: { "Agent-ID": agent, ...request.headers } }));
  const [reply] = await client.replies(1);
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

/** A call that waits for an operator. */
async function waiting(daemon: TestConsole, agent = ALMA): Promise<string> {
  const reply = await ask(daemon, agent, booking("7"));
  expect(reply.status).toBe(262);
  return String(reply.body["escalation_id"]);
}

describe("a store that fails", () => {
  it("keeps nobody who is signed in from looking, and is told of where it is needed", async () => {
    const daemon = await open();
    const operator = await daemon.signIn({ name: "Nina" });
    const link = new URL(await daemon.link());
    const fault = new StoreUnavailableError("unreachable", new Error("gone"));
    for (const method of ["add", "change"] as const) {
      vi.spyOn(Collection.prototype, method).mockRejectedValue(fault);
    }
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
    onTestFinished(() => {
      vi.restoreAllMocks();
      vi.useRealTimers();
    });
    expect((await operator.get("/api/approvals")).status).toBe(200);
    const { origin } = daemon;
    const body = link.searchParams;
    const refused = await daemon.ask("/sign-in", { method: "POST", body, headers: { origin } });
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { error: { code: "outcome-unknown" } },
    ]);
    expect(daemon.log.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("the way in", () => {
  it("is a link that one press of its button uses up", async () => {
    const daemon = await open();
    const link = await daemon.link({ name: "Nina <Night>", role: "viewer" });
    expect(link.startsWith(`${daemon.origin}/sign-in?link=`)).toBe(true);
    const path = link.slice(daemon.origin.length);
    for (const _ of [1, 2]) {
      const { status, text } = await daemon.ask(path);
      expect(status).toBe(200);
      expect(text).toContain("As Nina &lt;Night&gt;, viewer.");
    }
    const press = () =>
      daemon.ask("/sign-in", {
        method: "POST",
        body: new URL(link).searchParams,
        headers: { origin: daemon.origin },
      });
    const entered = await press();
    expect([entered.status, entered.headers.get("location")]).toEqual([303, "/"]);
    const cookie = String(entered.headers.get("set-cookie"));
    expect(cookie).toMatch(
      /^agtpd_console_9f86d081=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const again = await press();
    expect([again.status, again.headers.get("set-cookie")]).toEqual([403, null]);
    const { body } = await daemon.ask("/api/session", { headers: { cookie } });
    expect(body).toMatchObject({ name: "Nina <Night>", role: "viewer", server_id: "test" });
  });

  it("is closed to whoever has no session, a forged one, or one that ended", async () => {
    const daemon = await open();
    const forged = { headers: { cookie: `agtpd_console_9f86d081=${"A".repeat(43)}` } };
    for (const init of [{}, forged]) {
      const page = await daemon.ask("/agents", init);
      expect([page.status, page.headers.get("location")]).toEqual([303, "/sign-in"]);
      const api = await daemon.ask("/api/agents", init);
      expect([api.status, api.body.error.code]).toEqual([401, "signed-out"]);
      expect((await daemon.ask("/api/nothing", init)).status).toBe(401);
    }
    const visitor = await daemon.signIn();
    expect((await visitor.get("/api/agents")).status).toBe(200);
    expect((await visitor.post("/sign-out", {})).status).toBe(204);
    expect((await visitor.get("/api/agents")).status).toBe(401);
  });

  it("refuses roles and names that are none", async () => {
    const daemon = await open();
    await expect(daemon.link({ role: "root" })).rejects.toThrow("one of viewer, operator");
    for (const name of ["", "  ", "x".repeat(129), 7]) {
      await expect(daemon.link({ name })).rejects.toThrow("of 1 to 128 characters, and not blank");
    }
    await expect(daemon.link({ name: "x".repeat(128) })).resolves.toContain("/sign-in?link=");
  });

  it("is off by default, and then nobody is let in", async () => {
    const daemon = await openConsole(await approvingFiles([], { console: { enabled: false } }));
    await expect(daemon.link()).rejects.toThrow("set enabled = true under [console]");
    expect(daemon.log.find(({ event }) => event === "listening")).not.toHaveProperty(
      "console_port",
    );
  });
});

it("is told that the link may be another node's, or of an earlier start", async () => {
  const house = await open();
  const { search } = new URL(await (await open()).link());
  const { text } = await house.ask(`/sign-in${search}`);
  expect(text).toContain("or was made by another node or before the daemon was started.");
});

/** Addresses of the pages that show one thing. */
const OF_AN_ID = /^\/(?:agents|approvals|records|traffic|endpoints\/[^/]*)\/[^/]+$/;

describe("every answer", () => {
  it("lets nothing in from elsewhere", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn();
    for (const path of ["/", "/sign-in", "/api/session", "/nothing"]) {
      const { headers } = await visitor.get(path);
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; script-src 'self' 'sha256-[\w+/]{43}='; style-src 'self';/,
      );
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("says so where a path has another method, and has no body for HEAD", async () => {
    const daemon = await open();
    const { cookie } = await daemon.signIn();
    const { origin } = daemon;
    const ask = async (method: string, path: string) => {
      const { status, headers, text, body } = await daemon.ask(path, {
        method,
        headers: { cookie, origin },
      });
      const policy = headers.get("content-security-policy");
      expect([method, path, policy]).toEqual([method, path, expect.stringContaining("'none'")]);
      return { status, allow: headers.get("allow"), code: body?.error.code, text };
    };
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
      for (const [path, allow] of [
        ["/", "GET, HEAD"],
        ["/agents", "GET, HEAD"],
        ["/page/main.js", "GET, HEAD"],
        ["/sign-in", "GET, HEAD, POST"],
        ["/sign-out", "POST"],
        ["/api/overview", "GET, HEAD"],
        [`/api/agents/${ALMA}`, "GET, HEAD, POST"],
        ["/api/events", "GET"],
      ] as const) {
        const refused = { status: 405, allow, code: "method-not-allowed" };
        expect([method, path, await ask(method, path)]).toMatchObject([method, path, refused]);
      }
    }
    expect(await ask("POST", "/api/overview")).toMatchObject({ status: 405, allow: "GET, HEAD" });
    for (const path of ["/", "/sign-in", "/api/agents", "/page/main.js"]) {
      expect(await ask("HEAD", path)).toMatchObject({ status: 200, text: "" });
    }
  });

  it("is 404 for what is not there, as a page where it is an address of pages", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn();
    const id = await waiting(daemon);
    for (const path of [`/agents/${ALMA}`, `/approvals/${id}`, `/records/${ALMA}`]) {
      expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
    }
    expect((await visitor.get("/endpoints/BOOK/rooms/%7Broom%7D")).status).toBe(200);
    const none = [
      "/agents/no",
      "/approvals/esc-no",
      "/records/no",
      "/traffic/no",
      "/no",
      "/agents/a/b",
    ];
    for (const path of [
      ...none,
      "/endpoints/BOOK/no",
      "/endpoints//x",
      "/%0d%0ano",
      "//no.example/",
    ]) {
      const { status, headers } = await visitor.get(path);
      const type = headers.get("content-type");
      expect([path, status, type]).toEqual([path, 404, "text/html; charset=utf-8"]);
      // Nobody learns of an id without a session; what is no page at all is none to anybody.
      const stranger = await daemon.ask(path);
      expect([path, stranger.status]).toEqual([path, OF_AN_ID.test(path) ? 303 : 404]);
    }
    for (const path of [
      "/api/no",
      "/api/agents/no",
      "/api/records/no",
      "/page/no",
      "/page/__proto__",
    ]) {
      const { status, body } = await visitor.get(path);
      expect([path, status, body.error.code]).toEqual([path, 404, "not-found"]);
    }
  });

  it("carries its fields where nothing could be read", async () => {
    const daemon = await open();
    const port = Number(new URL(daemon.origin).port);
    const host = `host: localhost:${port}`;
    for (const [octets, status] of [
      [`GET /api/agents/% HTTP/1.1\r\n${host}\r\n\r\n`, 400],
      [`GET /api/agents/${"a".repeat(5_000)} HTTP/1.1\r\n${host}\r\n\r\n`, 414],
      ["FROB / HTTP/1.1\r\n\r\n", 400],
      [`GET http://evil.example/sign-in HTTP/1.1\r\n${host}\r\n\r\n`, 421],
      [`GET http://localhost:${port}/nothing HTTP/1.1\r\n${host}\r\n\r\n`, 404],
      [`POST /sign-in HTTP/1.1\r\n${host}\r\ncontent-length: 1x\r\n\r\n`, 400],
      [`GET / HTTP/1.1\r\n${host}\r\nx: ${"a".repeat(200_000)}\r\n\r\n`, 431],
      [`GET /page/../../../package.json HTTP/1.1\r\n${host}\r\n\r\n`, 404],
      [`GET /page/..%2f..%2fpackage.json HTTP/1.1\r\n${host}\r\n\r\n`, 404],
    ] as const) {
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(port, "127.0.0.1", () => socket.write(octets));
        socket.setEncoding("latin1").once("data", (text: unknown) => {
          socket.destroy();
          resolve(String(text));
        });
        socket.once("error", reject);
      });
      expect(answer).toMatch(
        new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*content-security-policy: default-src 'none'`),
      );
      expect(answer).toContain("x-content-type-options: nosniff");
      expect(answer).toContain('{"error":{"code":"');
    }
  });

  it("of the page's files is kept by browsers, under an address that another file has not", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn();
    const { text } = await visitor.get("/");
    const named = [...text.matchAll(/"(\/page\/v-[0-9a-f]{16}\/[^"]+)"/g)].map(([, one]) => one);
    const addresses = new Set(named);
    expect(addresses.size).toBeGreaterThan(20);
    expect(text.replaceAll(/\/page\/v-[0-9a-f]{16}\//g, "")).not.toContain("/page/");
    for (const address of addresses) {
      const { status, headers } = await daemon.ask(String(address));
      const kept = headers.get("cache-control");
      expect([address, status, kept]).toEqual([
        address,
        200,
        "public, max-age=31536000, immutable",
      ]);
    }
    expect((await daemon.ask("/page/v-0000000000000000/main.js")).status).toBe(404);
    // A page is drawn without what passkeys need.
    const preloads = text.matchAll(/<link rel="modulepreload" href="\/page\/[^/]+\/([^"]+)">/g);
    expect([...preloads].map(([, name]) => name)).toEqual([
      "main.js",
      ...["lib/preact.js", "lib/preact-hooks.js", "lib/htm.js", "lib/uplot.js"],
    ]);
    expect(named.some((address) => address?.includes("webauthn"))).toBe(true);
  });

  it("is for the console's own names", async () => {
    const daemon = await open();
    const { port } = new URL(daemon.origin);
    const status = await new Promise((resolve, reject) => {
      request({ port, path: "/sign-in", headers: { host: "evil.example" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(421);
  });
});

describe("a change", () => {
  it("wants the session, its token, the console's own origin, JSON, and an operator", async () => {
    const daemon = await open();
    const id = await waiting(daemon);
    const path = `/api/approvals/${id}`;
    const decision = { decision: "accepted", reason: "fine" };
    const operator = await daemon.signIn();
    const viewer = await daemon.signIn({ role: "viewer" });
    const codeOf = async (asked: ReturnType<typeof operator.post>) => {
      const { status, body } = await asked;
      return [status, body.error?.code];
    };
    const post = (fields: Record<string, string>) => operator.post(path, decision, fields);
    expect(await codeOf(post({ cookie: "" }))).toEqual([401, "signed-out"]);
    expect(await codeOf(post({ "x-csrf-token": "" }))).toEqual([403, "csrf-token"]);
    expect(await codeOf(post({ "x-csrf-token": viewer.csrf }))).toEqual([403, "csrf-token"]);
    expect(await codeOf(post({ origin: "http://localhost:1" }))).toEqual([
      403,
      "origin-not-allowed",
    ]);
    expect(await codeOf(post({ "content-type": "text/plain" }))).toEqual([415, "unsupported-type"]);
    expect(await codeOf(viewer.post(path, decision))).toEqual([403, "viewer"]);
    expect(await codeOf(operator.post(path, { decision: "maybe" }))).toEqual([422, "malformed"]);
    expect(await codeOf(operator.post("/api/approvals/esc-no", decision))).toEqual([
      404,
      "not-found",
    ]);
    expect((await operator.get(path)).body.escalation.status).toBe("pending_review");
    expect((await operator.post(path, decision)).status).toBe(200);
  });

  it("is refused where it is nested deeper than code that walks it can bear, or has a number that would be another", async () => {
    const daemon = await open();
    const path = `/api/approvals/${await waiting(daemon)}`;
    const { cookie, csrf } = await daemon.signIn();
    const own = { cookie, origin: daemon.origin, "x-csrf-token": csrf };
    const headers = { ...own, "content-type": "application/json" };
    const send = async (address: string, body: string) => {
      const answer = await daemon.ask(address, { method: "POST", body, headers });
      return [answer.status, answer.body.error?.message];
    };
    const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    const decide = (levels: number) =>
      send(path, `{"decision":"deferred","content":{"a":${deep(levels)}}}`);
    const refused = [422, "the body is nested deeper than 65 levels"];
    for (const levels of [64, 30_000]) expect(await decide(levels)).toEqual(refused);
    expect(await decide(63)).not.toEqual(refused);
    const lost = `{"decision":"accepted","resume_value":{"seat":[9007199254740993]}}`;
    const message = "/resume_value/seat/0: 9007199254740993 cannot be kept to the digit";
    expect(await send(path, lost)).toEqual([422, expect.stringContaining(message)]);
    const tried = `{"agent_id":"${ALMA}","input":{"room":"7","guest":${deep(30_000)}}}`;
    expect(await send("/api/try/RESERVE/rooms/%7Broom%7D", tried)).toEqual(refused);
    expect(daemon.log.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("is refused where it has a member that it would be made without", async () => {
    const daemon = await open();
    const id = await waiting(daemon);
    const operator = await daemon.signIn();
    const input = { room: "7" };
    for (const [path, body, misspelled] of [
      [`approvals/${id}`, { decision: "accepted" }, "reson"],
      [`agents/${ALMA}`, { action: "suspend" }, "decision"],
      ["contracts/none", { action: "withdraw" }, "Reason"],
      ["try/RESERVE/rooms/%7Broom%7D", { agent_id: ALMA, input }, "escalation-id"],
      ["upstreams/none/none", { action: "accept" }, "content"],
      ["passkeys/challenge", { for: "registration" }, "person"],
      ["passkeys", { name: "desk" }, "person"],
      ["passkeys/none", { action: "remove" }, "name"],
    ] as const) {
      const message = new RegExp(`^"${misspelled}" is none of ${Object.keys(body)[0]}, `);
      expect(await operator.post(`/api/${path}`, { ...body, [misspelled]: "x" })).toMatchObject({
        status: 422,
        body: { error: { code: "malformed", message: expect.stringMatching(message) } },
      });
    }
    expect((await operator.get(`/api/approvals/${id}`)).body.escalation.status).toBe(
      "pending_review",
    );
    expect((await operator.get(`/api/agents/${ALMA}`)).body.agent.status).toBe("active");
  });

  it("is a decision in the person's name, and the call runs once", async () => {
    const daemon = await open();
    const id = await waiting(daemon);
    const operator = await daemon.signIn({ name: "Nina" });
    const shown = (await operator.get("/api/approvals")).body;
    expect(shown.waiting).toMatchObject([{ escalation_id: id, agent_name: "alma" }]);
    expect(shown.waiting[0].context.call.input).toEqual({ room: "7", guest: "Ada" });
    const guest = "Ada".repeat(2_000);
    const asked = await ask(daemon, ALMA, { ...booking("8"), body: { guest } });
    const long = String(asked.body["escalation_id"]);
    const { waiting: rows } = (await operator.get("/api/approvals")).body;
    const row = rows.find((one: { escalation_id: string }) => one.escalation_id === long);
    expect(row.context).toEqual({ call: { method: "BOOK", path: "/rooms/8" } });
    const { escalation } = (await operator.get(`/api/approvals/${long}`)).body;
    expect(escalation.context.call.input).toEqual({ room: "8", guest });
    const { body } = await operator.post(`/api/approvals/${id}`, {
      ...{ decision: "accepted", reason: "she called" },
    });
    expect(body.escalation.decision).toMatchObject({
      ...{ status: "accepted", reason: "she called", authority: "operator" },
      operator: { id: "link:Nina", name: "Nina", via: "link" },
    });
    expect((await ask(daemon, ALMA, under(id, booking("7")))).status).toBe(200);
    expect((await ask(daemon, ALMA, under(id, booking("7")))).status).toBe(409);
    expect(ranIn(daemon)).toEqual(["book 7 Ada"]);
    const next = await waiting(daemon);
    const { last_approved: last } = (await operator.get(`/api/approvals/${next}`)).body;
    expect(last.escalation_id).toBe(id);
    // Who decided stands in the agent's own chain.
    const { events } = (await operator.get(`/api/agents/${ALMA}`)).body;
    expect(events.at(-1).payload).toMatchObject({
      event_type: "escalation_decided",
      operator: { id: "link:Nina", name: "Nina", via: "link" },
    });
  });

  it("of an agent's standing holds at once, and is in its chain", async () => {
    const daemon = await open();
    const operator = await daemon.signIn({ name: "Nina" });
    const act = (action: string) =>
      operator.post(`/api/agents/${BORIS}`, { action, reason: "audit" });
    const look = () => ask(daemon, BORIS, { method: "QUERY", path: "/free/7" });
    expect((await look()).status).toBe(200);
    expect((await act("suspend")).body).toMatchObject({ status: "suspended" });
    expect((await look()).status).toBe(503);
    expect((await act("reinstate")).body).toMatchObject({ status: "active" });
    expect((await look()).status).toBe(200);
    expect((await act("revoke")).body).toMatchObject({ status: "retired" });
    expect((await look()).status).toBe(410);
    const refused = await act("reinstate");
    expect(refused.status).toBeGreaterThanOrEqual(400);
    const { agent, events } = (await operator.get(`/api/agents/${BORIS}`)).body;
    expect(agent.status).toBe("retired");
    for (const { payload } of events) {
      expect(payload.operator).toEqual({ id: "link:Nina", name: "Nina", via: "link" });
    }
  });
});

describe("what a viewer sees", () => {
  it("has no inputs of calls in it", async () => {
    const daemon = await open();
    const id = await waiting(daemon);
    const viewer = await daemon.signIn({ role: "viewer" });
    for (const path of ["/api/approvals", `/api/approvals/${id}`]) {
      const { text } = await viewer.get(path);
      expect(text).toContain('"input":"[operators only]"');
      expect(text).not.toContain("Ada");
    }
  });

  it("has nothing in it that an agent asks on its own", async () => {
    const daemon = await open();
    const context = { kind: "secret", call: { method: "secret", path: "secret" } };
    const body = { task_id: "task-7", reason: "scope_limit", context };
    const asked = await ask(daemon, ALMA, { method: "ESCALATE", body });
    const viewer = await daemon.signIn({ role: "viewer" });
    const id = asked.body["result"]?.["escalation_id"];
    for (const path of ["/api/approvals", `/api/approvals/${id}`]) {
      expect((await viewer.get(path)).text).not.toContain("secret");
    }
  });
});

describe("the traffic", () => {
  it("shows each request with the gate that refused it, and never what it said", async () => {
    const daemon = await open();
    const operator = await daemon.signIn();
    await ask(daemon, ALMA, { method: "QUERY", path: "/free/7?guest=secret" });
    await ask(daemon, ALMA, { method: "FROBNICATE", path: "/x" });
    await ask(daemon, BORIS, { method: "QUERY", path: "/nowhere" });
    const { entries } = (await operator.get("/api/traffic")).body;
    expect(entries.slice(0, 3)).toMatchObject([
      { method: "QUERY", path: "/nowhere", status: 404, agent_id: BORIS },
      { method: "FROBNICATE", status: 459, gate: "method", code: "method-not-in-catalog" },
      { method: "QUERY", path: "/free/7", status: 200, gate: null, agent_id: ALMA },
    ]);
    expect(JSON.stringify(entries)).not.toContain("secret");
    const one = (await operator.get(`/api/traffic/${entries[1].response_id}`)).body;
    expect(one.gates.at(-1)).toEqual({ name: "method", passed: false });
    const only = async (query: string) =>
      (await operator.get(`/api/traffic?${query}`)).body.entries;
    expect(await only("gate=method")).toHaveLength(1);
    expect(await only(`agent=${ALMA}&status=200`)).toHaveLength(1);
    expect(await only(`after=${entries[0].number}`)).toEqual([]);
    expect((await operator.get("/api/traffic?status=x")).status).toBe(422);
    const { body } = await operator.get("/api/overview");
    expect(body.by_status).toMatchObject({ 200: expect.any(Number), 459: 1 });
    expect(body.by_gate).toMatchObject({ method: 1 });
  });

  it("comes to onlookers as it happens, and ends with their session", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn();
    const response = await fetch(`${daemon.origin}/api/events`, {
      headers: { cookie: visitor.cookie },
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    const until = async (text: string): Promise<void> => {
      while (!heard.includes(text)) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) throw new Error(`ended without ${text}`);
        heard += value;
      }
    };
    await until("event: overview");
    await ask(daemon, ALMA, { method: "QUERY", path: "/free/9" });
    await until('"path":"/free/9"');
    await waiting(daemon);
    await until('{"waiting":1}');
    await visitor.post("/sign-out", {});
    while (!((await reader?.read()) ?? { done: true }).done);
  });
});

describe("chains of records", () => {
  it("are there as they are signed, from the head back to the first", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn({ role: "viewer" });
    for (const room of ["1", "2", "3"]) {
      await ask(daemon, ALMA, { method: "QUERY", path: `/free/${room}` });
    }
    const { chains } = (await visitor.get("/api/records")).body;
    const chain = chains.find(({ agent_id: id }: { agent_id: string }) => id === ALMA);
    const { head, records, next } = (await visitor.get(`/api/records/${ALMA}`)).body;
    expect(head).toBe(chain.audit_id);
    expect([records.length, next]).toEqual([3, null]);
    const links = records.map(
      ({ jws }: { jws: string }) => decodeJws(jws)?.payload["previous_audit_id"],
    );
    expect(links.slice(0, 2)).toEqual(
      records.slice(1).map((one: { audit_id: string }) => one.audit_id),
    );
    const rest = (await visitor.get(`/api/records/${ALMA}?from=${records[1].audit_id}`)).body;
    expect(rest.records).toEqual(records.slice(1));
    expect((await visitor.get(`/api/records/${ALMA}?from=x`)).status).toBe(422);
  });
});

describe("what is served", () => {
  it("is listed with its contract", async () => {
    const daemon = await open();
    const visitor = await daemon.signIn();
    const { endpoints } = (await visitor.get("/api/endpoints")).body;
    expect(endpoints).toContainEqual(
      expect.objectContaining({ method: "BOOK", path: "/rooms/{room}", approval: "operator" }),
    );
    const one = (await visitor.get("/api/endpoints/BOOK/rooms/%7Broom%7D")).body;
    expect(one.input_schema.properties).toHaveProperty("guest");
    expect((await visitor.get("/api/endpoints/BOOK/nothing")).status).toBe(404);
    expect((await visitor.get("/api/contracts")).body).toEqual({ contracts: [] });
    expect((await visitor.get("/api/upstreams")).body).toEqual({
      ...{ http: [], mcp: [], agents: [], processes: [] },
    });
    expect((await visitor.get("/api/nodes")).body.nodes).toMatchObject([
      { state: "ready", address: `127.0.0.1:${daemon.daemon.port}`, lease_ms: null },
    ]);
    expect((await visitor.get("/api/overview")).body).toMatchObject({
      server: { server_id: "test", port: daemon.daemon.port },
      journal: { writable: true },
      waiting: 0,
    });
  });
});
