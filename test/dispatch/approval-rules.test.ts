/** Which calls wait for an operator, and what is wrong with rules that say it. */
import { type Channel, channel } from "node:diagnostics_channel";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  ALMA,
  approvedEndpoint,
  approvedFor,
  approvingFiles,
  BORIS,
  booking,
  decide,
  questionOf,
  ranIn,
  under,
} from "../support/approving.ts";
import { openServer, type TestRequest } from "../support/dispatch.ts";
import { askAs, refusalOf } from "../support/waiting.ts";

type Rules = readonly object[];

async function open(rules: Rules, isClean = true) {
  return openServer(await approvingFiles(rules), { isClean });
}

const RESERVE: TestRequest = { method: "RESERVE", path: "/rooms/7", body: {} };
const LOOK: TestRequest = { method: "QUERY", path: "/free/7", body: {} };

describe("a rule of approvals", () => {
  it.each([
    ["impact", { impact: "irreversible" }, RESERVE, LOOK],
    ["method", { method: "RESERVE" }, RESERVE, LOOK],
    ["path", { path: "/rooms/7" }, RESERVE, { ...RESERVE, path: "/rooms/8" }],
    ["template", { path: "/rooms/{any}" }, RESERVE, LOOK],
    ["scope", { scope: "booking:room" }, RESERVE, LOOK],
    ["wildcard", { scope: "booking:*" }, RESERVE, LOOK],
    ["all members", { impact: "irreversible", path: "/rooms/7" }, RESERVE, LOOK],
    ["nothing", {}, LOOK, { method: "QUERY", body: { intent: "rooms" } }],
  ] as const)("matches by its %s, and nothing else", async (_, rule, asked, free) => {
    const server = await open([{ ...rule, approval: "operator" }]);
    expect(refusalOf(await askAs(server, ALMA, asked))).toEqual([262, "approval-required"]);
    expect((await askAs(server, ALMA, free)).status).toBe(200);
  });

  it.each(["alma", ALMA])("matches the agent %s", async (agent) => {
    const server = await open([{ agent, approval: "operator" }]);
    expect((await askAs(server, ALMA, RESERVE)).status).toBe(262);
    expect((await askAs(server, BORIS, RESERVE)).status).toBe(200);
  });

  it("is not led around by percent-encoding", async () => {
    const server = await open([{ path: "/rooms/suite", approval: "operator" }]);
    const asked = { ...RESERVE, path: "/rooms/s%75ite" };
    expect((await askAs(server, ALMA, asked)).status).toBe(262);
  });

  it.each(["7", "7.0", "70e-1", "%37.0"])("is not led around by the number %s", async (number) => {
    const files = await approvingFiles([{ path: "/rooms/7", approval: "operator" }]);
    const text = approvedEndpoint({
      ...{ method: "RESERVE", path: "/rooms/{room}", properties: { room: { type: "number" } } },
      handler: { type: "registered_function", function: "handlers.book" },
    });
    const server = await openServer(
      { ...files, "endpoints/reserve.toml": text },
      { isClean: true },
    );
    const asked = { ...RESERVE, path: `/rooms/${number}` };
    expect((await askAs(server, ALMA, asked)).status).toBe(262);
    expect((await askAs(server, ALMA, { ...asked, path: "/rooms/7.5" })).status).toBe(200);
    // A text is another one.
    const texts = await openServer(files, { isClean: true });
    expect((await askAs(texts, ALMA, { ...RESERVE, path: "/rooms/7.0" })).status).toBe(200);
  });

  it("excepts what a later one would match, where it says none", async () => {
    const server = await open([
      { agent: "boris", approval: "none" },
      { impact: "irreversible", approval: "operator" },
    ]);
    expect((await askAs(server, BORIS, RESERVE)).status).toBe(200);
    expect((await askAs(server, ALMA, RESERVE)).status).toBe(262);
    // What an endpoint says of itself holds whatever the rules say.
    expect((await askAs(server, BORIS, booking("7"))).status).toBe(262);
  });

  it("says how long a question waits", async () => {
    const server = await open([{ method: "RESERVE", approval: "operator", ttl_seconds: 90 }]);
    const { body } = await askAs(server, ALMA, RESERVE);
    const left = Date.parse(String(body["expires_at"])) - Date.now();
    expect(left).toBeGreaterThan(60_000);
    expect(left).toBeLessThanOrEqual(90_000);
  });
});

describe("approvals at the start", () => {
  it.each([
    ["an unknown method", [{ method: "BOKO", approval: "operator" }], "[0].method", /no method/],
    [
      "another name of a method",
      [{ method: "POST", approval: "operator" }],
      "[0].method",
      /CREATE/,
    ],
    ["a misspelt agent", [{ agent: "alam", approval: "none" }], "[0].agent", /can never match/],
    ["a path that is none", [{ path: "/rooms/{", approval: "none" }], "[0].path", /./],
    [
      "a rule behind a wider one",
      [
        { method: "RESERVE", approval: "none" },
        { method: "RESERVE", path: "/rooms/7", approval: "operator" },
      ],
      "[1]",
      /can never match/,
    ],
    [
      "a template behind a wider one",
      [
        { path: "/rooms/{x}", approval: "none" },
        { path: "/rooms/7", scope: "booking:room", approval: "operator" },
      ],
      "[1]",
      /can never match/,
    ],
  ])("refuse %s, with file and key", async (_, rules, key, message) => {
    const refused = await open(rules).catch((error: unknown) => String(error));
    expect(refused).toContain(`agtp-server.toml: policies.approvals${key}: `);
    expect(refused).toMatch(message);
  });

  it.each([
    ["an unknown impact", { impact: "grave", approval: "operator" }, "impact"],
    ["too long a time", { approval: "operator", ttl_seconds: 2_592_001 }, "ttl_seconds"],
    ["no time", { approval: "operator", ttl_seconds: 0 }, "ttl_seconds"],
    ["an unknown word", { approval: "somebody" }, "approval"],
    ["an unknown key", { approval: "none", impakt: "x" }, "impakt"],
  ])("refuse %s", async (_, rule, key) => {
    await expect(open([rule])).rejects.toThrow(`agtp-server.toml: policies.approvals[0].${key}`);
  });

  it("refuse another word in an endpoint's file", async () => {
    const files = await approvingFiles();
    const text = approvedEndpoint({ method: "BOOK", path: "/x", approval: "nobody" });
    await expect(openServer({ ...files, "endpoints/x.toml": text })).rejects.toThrow(
      "endpoints/x.toml: endpoint.approval",
    );
  });

  it("warn of a rule that matches nothing that is served, and of approvals that nobody can give", async () => {
    const idle = await open([{ path: "/nowhere", approval: "operator" }], false);
    expect(idle.problems).toMatchObject([
      { file: "agtp-server.toml", key: "policies.approvals[0]", severity: "warning" },
    ]);
    const files = await approvingFiles([], {
      policies: { identity: { operator_certificates: [] } },
    });
    const nobody = await openServer(files, { isClean: false });
    const key = "policies.identity.operator_certificates";
    expect(nobody.problems).toMatchObject([{ key, severity: "warning" }]);
    // At a console somebody can, without a certificate.
    const decided = await openServer({
      ...files,
      "agtp-server.toml": `${files["agtp-server.toml"]}\n[console]\nenabled = true\nport = 0\n`,
    });
    expect(decided.problems).toEqual([]);
    const unasked = await approvingFiles([], { tls: { client_auth: "none" } });
    const deaf = await openServer(unasked, { isClean: false });
    expect(deaf.problems).toMatchObject([{ key: "tls.client_auth", severity: "warning" }]);
  });
});

describe("the manifest", () => {
  it("shows which endpoints ask for an approval", async () => {
    const server = await open([]);
    const { body } = await askAs(server, undefined, { method: "DISCOVER" });
    const endpoints = body["endpoints"] as unknown as readonly Record<string, unknown>[];
    const asking = endpoints.filter(({ approval }) => approval === "operator");
    expect(asking.map(({ path }) => path).toSorted()).toEqual(
      ["/broken/{room}", "/full/{room}", "/rooms/{room}", "/slow/{room}"].toSorted(),
    );
  });
});

const STEP = (method: string, path: string, room = "proposal"): string => `
[[recipe.steps]]
method = "${method}"
path = "${path}"
capture_as = "done_${method}"
[recipe.steps.parameters.room]
kind = "${room}"
value = "${room === "proposal" ? "room" : "done_QUERY.free"}"
`;

function recipe(name: string, ...steps: readonly string[]): string {
  return `
[[recipe]]
name = "${name}"
version = "1"
description = "Of a test."
aggregation = { mode = "last" }
${steps.join("")}`;
}

function composition(path: string, name: string, approval?: string): string {
  return approvedEndpoint({
    ...{ method: "RESERVE", path, errors: ["composition_failed"] },
    ...(approval === undefined ? {} : { approval }),
    required_scopes: ["booking:room"],
    handler: { type: "composition", recipe: name },
  });
}

describe("a composition", () => {
  const look = STEP("QUERY", "/free/{room}");

  async function composed(name: string, steps: readonly string[], rules: Rules, approval?: string) {
    return openServer({
      ...(await approvingFiles(rules)),
      "recipes/r.toml": recipe(name, ...steps),
      "endpoints/composed.toml": composition("/composed/{room}", name, approval),
    });
  }

  const COMPOSED: TestRequest = { method: "RESERVE", path: "/composed/7", body: {} };

  it("asks once for itself", async () => {
    const steps = [look, STEP("RESERVE", "/rooms/{room}")];
    const server = await composed("r", steps, [], "operator");
    const id = await approvedFor(server, COMPOSED);
    expect(ranIn(server)).toEqual([]);
    expect((await askAs(server, ALMA, under(id, COMPOSED))).status).toBe(200);
    expect(ranIn(server)).toEqual(["look", "book 7 "]);
    const again = await askAs(server, ALMA, under(id, COMPOSED));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
  });

  it.each([undefined, "operator"])(
    "with a step that needs one of its own fails before anything ran (its own approval: %s)",
    async (approval) => {
      const server = await composed("r", [look, STEP("BOOK", "/rooms/{room}")], [], approval);
      const reply = await askAs(server, ALMA, COMPOSED);
      expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
      expect(reply.body["error"]?.["details"]).toMatchObject({
        ...{ recipe: "r", step: 2, method: "BOOK", status: null },
        error: { code: "approval-required" },
      });
      expect(ranIn(server)).toEqual([]);
      expect(server.state.escalations.list()).toEqual([]);
    },
  );

  it("fails only where the very call would need one, as far as that is known before", async () => {
    const rules = [{ path: "/rooms/suite", approval: "operator" }];
    const server = await composed("r", [look, STEP("RESERVE", "/rooms/{room}")], rules);
    expect((await askAs(server, ALMA, COMPOSED)).status).toBe(200);
    const suite = { ...COMPOSED, path: "/composed/suite" };
    expect((await askAs(server, ALMA, suite)).status).toBe(422);
    expect(ranIn(server)).toEqual(["look", "book 7 "]);
  });

  it("fails where an earlier output could lead to one", async () => {
    const rules = [{ path: "/rooms/suite", approval: "operator" }];
    const steps = [look, STEP("RESERVE", "/rooms/{room}", "previous_step")];
    const server = await composed("r", steps, rules);
    expect((await askAs(server, ALMA, COMPOSED)).status).toBe(422);
    expect(ranIn(server)).toEqual([]);
  });

  it("is looked through to what its steps are composed of, and what they execute", async () => {
    const execute = `
[[recipe.steps]]
method = "EXECUTE"
path = "/"
[recipe.steps.parameters.action]
kind = "constant"
value = "BOOK /rooms/9"
`;
    const server = await openServer({
      ...(await approvingFiles()),
      "recipes/r.toml": recipe("inner", look, STEP("BOOK", "/rooms/{room}")),
      "recipes/s.toml": recipe("outer", look, STEP("RESERVE", "/composed/{room}")),
      "recipes/t.toml": recipe("executing", look, execute),
      "endpoints/composed.toml": composition("/composed/{room}", "inner"),
      "endpoints/outer.toml": composition("/outer/{room}", "outer"),
      "endpoints/executing.toml": composition("/executing/{room}", "executing"),
    });
    for (const path of ["/outer/7", "/executing/7"]) {
      const reply = await askAs(server, ALMA, { ...COMPOSED, path });
      expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    }
    expect(ranIn(server)).toEqual([]);
  });

  it("is not begun where its steps are an exception of its caller", async () => {
    const rules = [
      { agent: "boris", approval: "none" },
      { method: "RESERVE", approval: "operator" },
    ];
    const server = await composed("r", [look, STEP("RESERVE", "/rooms/{room}")], rules);
    expect((await askAs(server, BORIS, COMPOSED)).status).toBe(200);
    expect((await askAs(server, ALMA, COMPOSED)).status).toBe(422);
  });
});

const LATE = channel("test:late-dispatch");
/** Dispatch once their own time is over, or before. */
const LATE_HANDLERS = `
import { channel } from "node:diagnostics_channel";
export const book = ({ input }) => ({ body: { booked: input.room } });
export const early = async ({ dispatch, input: { method, path, input } }) => {
  channel("${String(LATE.name)}").publish(await dispatch(method, path, input));
  return { body: {} };
};
export const relay = async (call) => {
  await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
  return early(call);
};
export const [slow, fail, throwing, look] = [book, book, book, book];
`;

async function lateFiles(): Promise<Readonly<Record<string, string>>> {
  const files = await approvingFiles([], { limits: { handler_timeout_ms: 50 } });
  const relays = files["endpoints/relay.toml"] ?? "";
  const early = relays.replace("/relays", "/early").replace("handlers.relay", "handlers.early");
  return { ...files, "handlers.mjs": LATE_HANDLERS, "endpoints/early.toml": early };
}

/** The next message of a channel. */
function nextOf(told: Channel): Promise<unknown> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => resolve(message);
    told.subscribe(take);
    onTestFinished(() => void told.unsubscribe(take));
  });
}

describe("what a handler dispatches", () => {
  const relay = (room: string): TestRequest => ({
    ...{ method: "CREATE", path: "/relays" },
    body: { method: "BOOK", path: `/rooms/${room}`, input: { guest: "Ada" } },
  });

  it("may bring the approval of the request", async () => {
    const server = await open([]);
    const asked = await askAs(server, ALMA, relay("7"));
    expect(asked.body).toMatchObject({ status: 262 });
    const id = String(asked.body["body"]?.["escalation_id"]);
    expect(await questionOf(server, booking("7"))).toBe(id);
    await approvedFor(server, booking("7"));
    const done = await askAs(server, ALMA, under(id, relay("7")));
    expect(done.body).toMatchObject({ status: 200, body: { booked: "7" } });
    const again = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(ranIn(server)).toEqual(["relay", "relay", "book 7 Ada"]);
  });

  it("asks nobody where the request was begun under one", async () => {
    const server = await open([{ method: "CREATE", approval: "operator" }]);
    const id = await approvedFor(server, relay("7"));
    const done = await askAs(server, ALMA, under(id, relay("7")));
    expect(done.body).toMatchObject({
      status: 262,
      body: { error: { code: "approval-required" } },
    });
    expect(done.body["body"]?.["escalation_id"]).toBeUndefined();
    expect(ranIn(server)).toEqual(["relay"]);
  });

  it("brings no approval once the request is answered: no record would name it", async () => {
    const server = await openServer(await lateFiles());
    const id = await approvedFor(server, booking("7"));
    const dispatched = nextOf(LATE);
    const reply = await askAs(server, ALMA, under(id, relay("7")));
    expect(refusalOf(reply)).toEqual([500, "handler-timeout"]);
    expect(await dispatched).toMatchObject({ status: 262 });
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(200);
  });

  it("does not begin where the request was answered while its approval was used up", async () => {
    const server = await openServer(await lateFiles());
    const { escalations } = server.state;
    const id = await approvedFor(server, booking("7"));
    const use = escalations.use.bind(escalations);
    let answer: (value: unknown) => void = () => undefined;
    const answered = new Promise((resolve) => {
      answer = resolve;
    });
    vi.spyOn(escalations, "use").mockImplementationOnce(async (...args) => {
      await answered;
      return use(...args);
    });
    const dispatched = nextOf(LATE);
    const early = { ...relay("7"), path: "/early" };
    expect((await askAs(server, ALMA, under(id, early))).status).toBe(500);
    answer(undefined);
    expect(await dispatched).toMatchObject({ status: 409 });
    const again = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(again.body).toMatchObject({ outcome: "unknown" });
  });
});

describe("EXECUTE", () => {
  const execution: TestRequest = {
    method: "EXECUTE",
    body: { action: "BOOK /rooms/7", parameters: { guest: "Ada" } },
  };

  it("asks for what it dispatches, in the same words, and runs it once", async () => {
    const server = await open([{ impact: "irreversible", approval: "operator" }]);
    const id = await approvedFor(server, execution);
    expect(await questionOf(server, booking("7"))).toBe(id);
    const reply = await askAs(server, ALMA, under(id, execution));
    expect(reply.status).toBe(200);
    const again = await askAs(server, ALMA, under(id, execution));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(again.body).toMatchObject({ outcome: "answered", outcome_status: 200 });
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });
});

describe("DELEGATE", () => {
  it("has the agent that works ask, and takes its approval along", async () => {
    const server = await open([]);
    const task: TestRequest = {
      method: "DELEGATE",
      body: {
        target_agent_id: "boris",
        task: { action: "BOOK /rooms/7", parameters: { guest: "Ada" } },
        authority_scope: ["booking:room"],
      },
    };
    const asked = await askAs(server, ALMA, task);
    expect(asked.status).toBe(550);
    const id = String(asked.body["sub_agent"]?.["error"]?.["escalation_id"]);
    // The agent's own call is another one.
    const own = await approvedFor(server, booking("7"), BORIS);
    expect((await askAs(server, ALMA, under(own, task))).status).toBe(550);
    expect((await askAs(server, ALMA, under(id, task))).status).toBe(550);
    expect((await decide(server, id, "accepted")).status).toBe(200);
    expect((await askAs(server, ALMA, under(id, task))).status).toBe(200);
    expect((await askAs(server, ALMA, under(id, task))).status).toBe(550);
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });
});
