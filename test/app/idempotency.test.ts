import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { createDaemon, openDaemon, type RawClient } from "../support/daemon.ts";
import {
  agentFile,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import {
  encodeRequest,
  openServer,
  type TestReply,
  type TestRequest,
} from "../support/dispatch.ts";
import { bus, heard, serverFiles, type Tables } from "../support/server-deployment.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

/** Each execution is one more line of a file, whatever becomes of the process. */
const HANDLERS = `
import { appendFileSync, readFileSync } from "node:fs";
const file = new URL("executions.txt", import.meta.url);
const bus = globalThis[Symbol.for("agtpd.test.bus")];
const count = () => {
  appendFileSync(file, "x");
  return readFileSync(file, "utf8").length;
};
export const order = ({ input }) => ({ body: { number: count(), item: input.item ?? null } });
export const slow = ({ input, log }) =>
  new Promise((resolve) => {
    const number = count();
    const release = () => resolve({ body: { number } });
    bus?.once("release " + input.item, release);
    bus?.emit("started " + input.item);
    log.info({ event: "handler-started" });
  });
export const fail = () => {
  throw new Error("failed " + count());
};
export const twice = async ({ dispatch }) => {
  const results = [await dispatch("ORDER", "/items", {}), await dispatch("ORDER", "/items", {})];
  return { body: { numbers: results.map(({ body }) => body.number) } };
};
export { order as echo, order as blob, order as wait, order as soon, order as later };
`;

function endpoint(method: string, path: string, name: string): string {
  return endpointFile({
    ...{ method, path, properties: { item: { type: "string" } } },
    handler: { type: "registered_function", function: `handlers.${name}` },
  });
}

function files(tables: Tables = {}): DeploymentFiles {
  return serverFiles(
    { policies: { identity: { lifecycle_auth: "open" } }, ...tables },
    {
      "handlers.mjs": HANDLERS,
      "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice", trust_tier: 2 }),
      "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob", trust_tier: 3 }),
      "endpoints/order.toml": endpoint("ORDER", "/items", "order"),
      "endpoints/create.toml": endpoint("CREATE", "/items", "order"),
      "endpoints/other.toml": endpoint("ORDER", "/others", "order"),
      "endpoints/slow.toml": endpoint("ORDER", "/slow", "slow"),
      "endpoints/fail.toml": endpoint("ORDER", "/failures", "fail"),
      "endpoints/twice.toml": endpoint("ORDER", "/pairs", "twice"),
    },
  );
}

interface Keyed extends Partial<TestRequest> {
  readonly key?: string;
  readonly agent?: string;
  readonly item?: string;
}

/** `ORDER /items` under the key "k". */
function order({ key = "k", agent = ALICE, item, headers, ...request }: Keyed = {}): TestRequest {
  return {
    ...{ method: "ORDER", path: "/items" },
    ...request,
    headers: { "Agent-ID": agent, ...(key === "" ? {} : { "Idempotency-Key": key }), ...headers },
    body: item === undefined ? {} : { item },
  };
}

function numberOf(reply: TestReply | undefined): unknown {
  return reply?.body["number"];
}

function isReplay({ headers }: TestReply): boolean {
  return headers.get("idempotency-replayed") === "true";
}

function codeOf(reply: TestReply | undefined): unknown {
  return reply?.body["error"]?.["code"];
}

async function ask(client: RawClient, request: TestRequest): Promise<TestReply | undefined> {
  const before = (await client.replies(0)).length;
  client.write(encodeRequest(request));
  return (await client.replies(before + 1))[before];
}

// AGTP-API §10.1.5
describe("a request under an Idempotency-Key", () => {
  it("is executed once, and answered each time with ids and a record of its own", async () => {
    const server = await openServer(files());
    const first = await server.send(order({ headers: { "Task-ID": "t-1" } }));
    const second = await server.send(order({ headers: { "Task-ID": "t-2" } }));
    expect([first, second].map(numberOf)).toEqual([1, 1]);
    expect([first, second].map(isReplay)).toEqual([false, true]);
    expect(second.headers.get("task-id")).toBe("t-2");
    for (const name of ["response-id", "audit-id", "attribution-record"]) {
      expect(second.headers.get(name)).toBeTruthy();
      expect(second.headers.get(name)).not.toBe(first.headers.get(name));
    }
  });

  it.each<[string, Keyed]>([
    ["method", { method: "CREATE" }],
    ["path", { path: "/others" }],
    ["query", { query: "item=a" }],
    ["body", { item: "a" }],
  ])("is another one with another %s", async (_, change) => {
    const server = await openServer(files());
    await server.send(order());
    const reply = await server.send(order(change));
    expect(reply.status).toBe(409);
    expect(codeOf(reply)).toBe("idempotency-key-reuse");
    expect(numberOf(await server.send(order({ ...change, key: "another" })))).toBe(2);
  });

  it("is the same by an alias and by a redirect", async () => {
    const redirect = { from_method: "BUY", from_path: "/things", to_method: "CREATE" };
    const redirects = [{ ...redirect, to_path: "/items" }];
    const policies = { methods: { redirects } };
    const server = await openServer(files({ policies }));
    await server.send(order({ method: "CREATE" }));
    const replies = [
      await server.send(order({ method: "POST" })),
      await server.send(order({ method: "BUY", path: "/things" })),
    ];
    expect(replies.map(numberOf)).toEqual([1, 1]);
    expect(replies.map(isReplay)).toEqual([true, true]);
  });

  it("has nothing to do with another agent's", async () => {
    const server = await openServer(files());
    const replies = [
      await server.send(order()),
      await server.send(order({ agent: BOB })),
      await server.send(order()),
      await server.send(order({ agent: BOB })),
    ];
    expect(replies.map(numberOf)).toEqual([1, 2, 1, 2]);
  });

  it("is executed each time for a stranger", async () => {
    const policies = {
      scope_required_for_invocation: false,
      identity: { unknown_agents: "accept" },
    };
    const server = await openServer(files({ policies }));
    const agent = "c".repeat(64);
    const replies = [await server.send(order({ agent })), await server.send(order({ agent }))];
    expect(replies.map(numberOf)).toEqual([1, 2]);
  });

  it("does not take the key when a gate refuses it", async () => {
    const server = await openServer(files());
    const refused = await server.send({ ...order(), body: { items: 1 } });
    expect(refused.status).toBe(422);
    expect(numberOf(await server.send(order()))).toBe(1);
  });

  it("is not executed again after a fault", async () => {
    const server = await openServer(files());
    const request = order({ path: "/failures" });
    const [first, second] = [await server.send(request), await server.send(request)];
    expect([first.status, second.status]).toEqual([500, 500]);
    expect(second.text).toBe(first.text);
    expect(server.faults).toHaveLength(1);
    expect(numberOf(await server.send(order({ key: "" })))).toBe(2);
  });

  it("has the key alone, not what its handler dispatches", async () => {
    const server = await openServer(files());
    const request = order({ path: "/pairs" });
    expect((await server.send(request)).body).toEqual({ numbers: [1, 2] });
    expect((await server.send(request)).body).toEqual({ numbers: [1, 2] });
  });

  it("of the protocol's own speaks for the same agent when it is answered again", async () => {
    const server = await openServer(files());
    const headers = { "Agent-ID": ALICE, "Idempotency-Key": "k" };
    const request = { method: "DEACTIVATE", path: "/agents/bob", headers, body: {} };
    const [first, second] = [await server.send(request), await server.send(request)];
    expect(first.status).toBe(200);
    expect(second.text).toBe(first.text);
    expect([first, second].map(isReplay)).toEqual([false, true]);
    const tiers = [first, second].map((reply) => reply.headers.get("trust-tier"));
    expect(tiers).toEqual(["3", "3"]);
  });

  it("costs a reading request nothing, whatever the key is", async () => {
    const server = await openServer(files());
    const headers = { "Agent-ID": ALICE, "Idempotency-Key": "two words" };
    expect((await server.send({ method: "DISCOVER", path: "/methods", headers })).status).toBe(200);
  });
});

describe("a daemon with a store", () => {
  it("executes concurrent duplicates once", async () => {
    const { connect, directory } = await openDaemon(files());
    const clients = await Promise.all(Array.from({ length: 12 }, () => connect()));
    const started = heard("started", "one");
    const replies = clients.map((client) => ask(client, order({ path: "/slow", item: "one" })));
    await started;
    // Whoever is answered now was not asked to wait.
    const reuse = await ask(await connect(), order({ path: "/slow", item: "two" }));
    expect(codeOf(reuse)).toBe("idempotency-key-reuse");
    bus.emit("release one");
    expect((await Promise.all(replies)).map(numberOf)).toEqual(clients.map(() => 1));
    expect(readFileSync(join(directory, "executions.txt"), "utf8")).toBe("x");
  });

  it("answers a caller that comes back after its connection was lost", async () => {
    const { connect, directory } = await openDaemon(files());
    const request = order({ path: "/slow", item: "lost" });
    const lost = await connect();
    const started = heard("started", "lost");
    lost.write(encodeRequest(request));
    await started;
    lost.destroy();
    const reply = ask(await connect(), request);
    bus.emit("release lost");
    expect(numberOf(await reply)).toBe(1);
    expect(readFileSync(join(directory, "executions.txt"), "utf8")).toBe("x");
  });

  it("answers again after a restart and after a reload", async () => {
    const deployment = makeDeployment(files());
    const before = await createDaemon(deployment);
    expect(numberOf(await ask(await before.connect(), order()))).toBe(1);
    await before.close();
    const after = await createDaemon(deployment);
    const replies = [await ask(await after.connect(), order())];
    await after.daemon.reload();
    replies.push(await ask(await after.connect(), order()));
    expect(replies.map(numberOf)).toEqual([1, 1]);
    expect(codeOf(await ask(await after.connect(), order({ item: "a" })))).toBe(
      "idempotency-key-reuse",
    );
    await after.close();
  });

  it("finds a duplicate of what the configuration before a reload executes", async () => {
    const server = await openDaemon(files());
    const request = order({ path: "/slow", item: "reloaded" });
    const started = heard("started", "reloaded");
    const first = ask(await server.connect(), request);
    await started;
    expect(await server.daemon.reload()).toEqual([]);
    const second = ask(await server.connect(), request);
    bus.emit("release reloaded");
    expect((await Promise.all([first, second])).map(numberOf)).toEqual([1, 1]);
  });

  it("never executes twice what it was killed in", async () => {
    const { configPath, directory } = makeDeployment(files());
    const killed = await startProgram(configPath);
    const answered = await killed.connect();
    expect(numberOf(await ask(answered, order({ key: "answered" })))).toBe(1);
    answered.write(encodeRequest(order({ path: "/slow", item: "never" })));
    await killed.line("handler-started");
    killed.child.kill("SIGKILL");
    await killed.outcome;
    const restarted = await startProgram(configPath);
    const client = await restarted.connect();
    const retry = order({ path: "/slow", item: "never" });
    for (const reply of [await ask(client, retry), await ask(client, retry)]) {
      expect(reply?.status).toBe(409);
      expect(codeOf(reply)).toBe("idempotency-outcome-unknown");
    }
    expect(numberOf(await ask(client, order({ key: "answered" })))).toBe(1);
    expect(readFileSync(join(directory, "executions.txt"), "utf8")).toBe("xx");
  });
});
