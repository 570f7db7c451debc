/** Runs act with what their owners have at the moment, over AGTP and HTTP, through reloads. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeOperator } from "../support/approval-ways.ts";
import { askOnce, openDaemon, type TestDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  endpointFile,
} from "../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { agentExtensions, CLIENT_EXTENSIONS } from "../support/openssl-pki.ts";
import { packFiles } from "../support/openwop.ts";
import { node, workflow } from "../support/openwop-workflows.ts";
import { ISSUER, makeIssuerKey, signToken } from "../support/token-issuer.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const CAROL = "c".repeat(64);
const AGENT = "vendor.test.pack.agent";
const BOOK = "agtp:BOOK /room";
const RUN_SCOPES = ["runs:create", "runs:read", "approvals:respond"];

/** Waits for the test's word, calls its tool, and waits once more. */
const TURN_MODULE = `
export const turn = async ({ tools, task, callTool }) => {
  await globalThis.heldTurn("begun");
  const result = await callTool(tools[0].toolId, {});
  await globalThis.heldTurn("called");
  return { result, confidence: task?.confidence ?? 0.9 };
};
`;
const ROOM_MODULE = `
export const book = () => ({ body: { booked: globalThis.bookRoom() } });
`;

function keyEntry(key: string, more: object = {}): object {
  const sha256 = createHash("sha256").update(key).digest("hex");
  return { sha256, tenant: "default", scopes: RUN_SCOPES, agtp_scopes: ["booking:*"], ...more };
}

const LENT_KEY = keyEntry("hk_lent");
const OTHER_KEY = keyEntry("hk_other");
const BOOKING = {
  ...{ method: "BOOK", path: "/room", required_scopes: ["booking:room"] },
  handler: { type: "registered_function", function: "rooms.book" },
};
const GRANTS = { [AGENT]: { scopes: ["booking:room"] } };

interface Standing {
  readonly api_keys?: readonly object[];
  readonly agents?: object;
}

function config(
  { api_keys = [LENT_KEY, OTHER_KEY], agents = GRANTS }: Standing = {},
  identity?: object,
  policies: object = {},
): string {
  const runtime = { kind: "function", function: "turns.turn" };
  return configFile({
    gateway: { enabled: true, port: 0 },
    policies: { ...policies, identity: { lifecycle_auth: "open", ...identity } },
    ...(identity && { tls: { client_auth: "optional", client_ca: "ca.pem" } }),
    openwop: { runtime, api_keys, agents },
  });
}

function agentOf(agent_id: string, name: string, scopes: readonly string[]): string {
  return agentFile({ agent_id, name, scopes_accepted: scopes });
}

function files(): DeploymentFiles {
  return {
    "agtp-server.toml": config(),
    "turns.mjs": TURN_MODULE,
    "rooms.mjs": ROOM_MODULE,
    "endpoints/book.toml": endpointFile(BOOKING),
    "agents/alice.agent.json": agentOf(ALICE, "alice", [...RUN_SCOPES, "booking:*", "inspect:all"]),
    "agents/bob.agent.json": agentOf(BOB, "bob", []),
    "agents/carol.agent.json": agentOf(CAROL, "carol", ["inspect:all", ...RUN_SCOPES]),
    ...packFiles({ agents: [{ toolAllowlist: [BOOK] }] }),
  };
}

type Moment = "begun" | "called";

interface HeldTurns {
  reached(moment: Moment): Promise<() => void>;
  readonly rooms: { booked: number };
}

/** The first turn stops at each moment until it is told to go on; the rooms that all of them book are counted. */
function holdTurns(): HeldTurns {
  const gate = () => {
    let tell: (goOn: () => void) => void = () => undefined;
    const reached = new Promise<() => void>((resolve) => {
      tell = resolve;
    });
    return { reached, tell };
  };
  const gates = { begun: gate(), called: gate() };
  const held = new Set<Moment>();
  const heldTurn = (moment: Moment): Promise<void> => {
    if (held.has(moment)) return Promise.resolve();
    held.add(moment);
    return new Promise((goOn) => gates[moment].tell(goOn));
  };
  const rooms = { booked: 0 };
  const bookRoom = (): number => {
    rooms.booked += 1;
    return rooms.booked;
  };
  Object.assign(globalThis, { heldTurn, bookRoom });
  return { reached: (moment) => gates[moment].reached, rooms };
}

type Ask = (method: string, path: string, body?: object) => Promise<TestReply>;

async function callerOf(server: TestDaemon, agentId: string): Promise<Ask> {
  const client = await server.connect();
  let count = 0;
  return async (method, path, body = {}) => {
    client.write(encodeRequest({ method, path, body, headers: { "Agent-ID": agentId } }));
    count += 1;
    const reply = (await client.replies(count))[count - 1];
    if (reply === undefined) throw new Error("the daemon hung up");
    return reply;
  };
}

async function startOverHttp(server: TestDaemon): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${server.daemon.gatewayPort}/v1/runs`, {
    method: "POST",
    headers: { authorization: "Bearer hk_lent", "content-type": "application/json" },
    body: JSON.stringify({ agentId: AGENT, inputs: { task: {} } }),
  });
  expect(reply.status).toBe(201);
  return String(((await reply.json()) as { runId: string }).runId);
}

async function startOverAgtp(server: TestDaemon): Promise<string> {
  const ask = await callerOf(server, ALICE);
  const started = await ask("EXECUTE", "/runs", { agentId: AGENT, inputs: { task: {} } });
  expect(started.status, started.text).toBe(202);
  return String(started.body["runId"]);
}

async function reload(server: TestDaemon, changed: DeploymentFiles): Promise<void> {
  for (const [name, text] of Object.entries(changed)) {
    writeFileSync(join(server.directory, name), String(text));
  }
  expect(await server.daemon.reload()).toEqual([]);
}

/** The run once it is over. */
async function endOf(server: TestDaemon, runId: string) {
  const ask = await callerOf(server, CAROL);
  let last = -1;
  for (;;) {
    const { body, text } = await ask("QUERY", `/runs/${runId}`);
    if (["completed", "failed"].includes(String(body["status"]))) {
      return { run: body, text };
    }
    const page = await ask("QUERY", `/runs/${runId}/events`, { lastSequence: last, timeout: 10 });
    last += (page.body["events"] as unknown as readonly unknown[]).length;
  }
}

/** Brings a run to its end over a reload at a moment of its first turn. */
async function runOverReload(at: Moment, start: typeof startOverHttp, changed: DeploymentFiles) {
  const server = await openDaemon(files());
  const turn = holdTurns();
  const runId = await start(server);
  for (const moment of ["begun", "called"] as const) {
    const goOn = await turn.reached(moment);
    if (moment === at) await reload(server, changed);
    goOn();
  }
  return { ...(await endOf(server, runId)), rooms: turn.rooms };
}

const narrowed = (scopes: readonly string[]): DeploymentFiles => ({
  "agents/alice.agent.json": agentOf(ALICE, "alice", scopes),
});

// OpenWOP RFC 0072 §D
describe("a run whose owner is stopped by a reload while an agent takes its turn", () => {
  const gone: readonly [string, typeof startOverHttp, DeploymentFiles][] = [
    [
      "an API key that is gone",
      startOverHttp,
      { "agtp-server.toml": config({ api_keys: [OTHER_KEY] }) },
    ],
    [
      "an API key that is another tenant's",
      startOverHttp,
      { "agtp-server.toml": config({ api_keys: [keyEntry("hk_lent", { tenant: "other" })] }) },
    ],
    [
      "an API key that may begin no runs any more",
      startOverHttp,
      {
        "agtp-server.toml": config({ api_keys: [keyEntry("hk_lent", { scopes: ["runs:read"] })] }),
      },
    ],
    ["an agent that may begin no runs any more", startOverAgtp, narrowed(["booking:*"])],
  ];

  it.each(gone)("calls nothing more, and fails: %s", async (_, start, changed) => {
    const { run, rooms } = await runOverReload("begun", start, changed);
    expect(run).toMatchObject({ status: "failed", error: { code: "agent_unavailable" } });
    expect(rooms.booked).toBe(0);
  });

  it.each(gone)("comes to no result, though all was called: %s", async (_, start, changed) => {
    const { run, rooms } = await runOverReload("called", start, changed);
    expect(run).toMatchObject({ status: "failed", error: { code: "agent_unavailable" } });
    expect(rooms.booked).toBe(1);
  });

  it.each<[string, typeof startOverHttp, DeploymentFiles]>([
    [
      "its key's scopes",
      startOverHttp,
      { "agtp-server.toml": config({ api_keys: [keyEntry("hk_lent", { agtp_scopes: [] })] }) },
    ],
    ["its agent's scopes", startOverAgtp, narrowed(RUN_SCOPES)],
    [
      "the scopes of the agent that takes the turn",
      startOverHttp,
      { "agtp-server.toml": config({ agents: {} }) },
    ],
  ])("calls no tool beyond what is left of %s", async (_, start, changed) => {
    const { run, text, rooms } = await runOverReload("begun", start, changed);
    expect(run["status"]).toBe("completed");
    expect(text).toContain("do not both hold what the tool requires");
    expect(rooms.booked).toBe(0);
  });

  it("goes on where nothing was taken from it", async () => {
    const wider = keyEntry("hk_lent", { agtp_scopes: ["booking:*", "documents:read"] });
    const changed = { "agtp-server.toml": config({ api_keys: [wider] }) };
    const { run, rooms } = await runOverReload("begun", startOverHttp, changed);
    expect([run["status"], rooms.booked]).toEqual(["completed", 1]);
  });
});

// OpenWOP RFC 0072 §B
describe("a run with a node to come", () => {
  it("goes on under the rules of the deployment that is served then", async () => {
    const turn = (id: string) =>
      node(id, "core.agent", {
        agent: { agentId: AGENT },
        inputs: { task: { type: "static", value: {} } },
      });
    const two = workflow("two", [turn("one"), turn("other")]);
    const server = await openDaemon({
      ...files(),
      "agents/openwop/workflows/two.json": JSON.stringify(two),
    });
    const held = holdTurns();
    const ask = await callerOf(server, ALICE);
    const started = await ask("EXECUTE", "/runs", { workflowId: "two" });
    (await held.reached("begun"))();
    const goOn = await held.reached("called");
    const narrower = { ...BOOKING, required_scopes: ["suites:book"] };
    await reload(server, { "endpoints/book.toml": endpointFile(narrower) });
    goOn();
    const { run, text } = await endOf(server, String(started.body["runId"]));
    expect([run["status"], held.rooms.booked]).toEqual(["completed", 1]);
    expect(text).toContain("do not both hold what the tool requires");
  });
});

// AGTP-CERT "Revocation"
describe("a run that was begun with a certificate", () => {
  const { pki, ca, fingerprint, connection } = makeOperator();
  const { cert, key, x509 } = pki.make("alice", {
    issuer: "ca",
    extensions: [...CLIENT_EXTENSIONS, ...agentExtensions(ALICE)],
  });
  const execution = { method: "EXECUTE", path: `/agents/${AGENT}` };
  const content = {
    ...{ event_type: "certificate_revoked", agent_id: ALICE },
    ...{ certificate_serial: x509.serialNumber, revocation_reason: "key-compromise" },
  };

  it.each<[string, TestRequest]>([
    ["by itself", { ...execution, body: { task: {} } }],
    [
      "through another agent",
      {
        method: "DELEGATE",
        body: {
          target_agent_id: BOB,
          authority_scope: ["runs:create", "booking:room"],
          task: { ...execution, parameters: { task: {} } },
        },
      },
    ],
  ])("calls nothing more once that is revoked: %s", async (_, request) => {
    const server = await openDaemon({
      ...files(),
      "ca.pem": ca,
      "agtp-server.toml": config({}, { operator_certificates: [fingerprint] }),
    });
    const turn = holdTurns();
    const headers = { "Agent-ID": ALICE };
    const begun = await askOnce(server, { ...request, headers }, { cert, key });
    const [, runId = ""] = /"runId":"([^"]+)"/.exec(begun.text) ?? [];
    const goOn = await turn.reached("begun");
    const body = { recipient: "infrastructure:broadcast", content };
    expect((await askOnce(server, { method: "NOTIFY", body }, connection)).status).toBe(200);
    goOn();
    (await turn.reached("called"))();
    const { run } = await endOf(server, runId);
    expect(run).toMatchObject({ status: "failed", error: { code: "agent_unavailable" } });
    expect(turn.rooms.booked).toBe(0);
  });
});

// AGTP "DELEGATE"
describe("a run that was begun with authority that was handed on", () => {
  it("is that of who handed it on, and for whom, also under another's idempotency_key", async () => {
    const key = await makeIssuerKey();
    const oauth = { issuer: ISSUER, jwks_file: "jwks.json" };
    const server = await openDaemon({
      ...files(),
      "jwks.json": JSON.stringify({ keys: [key.jwk] }),
      "agtp-server.toml": config({}, undefined, { oauth }),
    });
    const turn = holdTurns();
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, iat: now, exp: now + 60 };
    const [ada, ben] = [
      await signToken(key, { ...claims, sub: "ada" }),
      await signToken(key, { ...claims, sub: "ben" }),
    ];
    const runs: (string | undefined)[] = [];
    for (const [agentId, token] of [
      [ALICE, ada],
      [ALICE, ben],
      [CAROL, ada],
      [ALICE, ada],
    ] as const) {
      const parameters = { task: {}, idempotency_key: "k-1" };
      const delegated = await askOnce(server, {
        method: "DELEGATE",
        headers: { "Agent-ID": agentId, Authorization: `Bearer ${token}` },
        body: {
          ...{ target_agent_id: BOB, authority_scope: ["runs:create"] },
          task: { method: "EXECUTE", path: `/agents/${AGENT}`, parameters },
        },
      });
      runs.push(/"runId":"([^"]+)"/.exec(delegated.text)?.[1]);
    }
    (await turn.reached("begun"))();
    (await turn.reached("called"))();
    expect(runs[3]).toBe(runs[0]);
    expect(new Set(runs).size).toBe(3);
  });

  it.each(["DEACTIVATE", "REVOKE"])(
    "calls nothing more after %s of who handed it on",
    async (method) => {
      const server = await openDaemon(files());
      const turn = holdTurns();
      const ask = await callerOf(server, ALICE);
      const delegated = await ask("DELEGATE", "/", {
        target_agent_id: BOB,
        authority_scope: ["runs:create", "booking:room"],
        task: { method: "EXECUTE", path: `/agents/${AGENT}`, parameters: { task: {} } },
      });
      expect(delegated.status, delegated.text).toBe(200);
      const [, runId = ""] = /"runId":"([^"]+)"/.exec(delegated.text) ?? [];
      const goOn = await turn.reached("begun");
      const other = await callerOf(server, CAROL);
      const stopped = await other(method, "/", { agent_id: ALICE, reason: "it was stolen" });
      expect(stopped.status, stopped.text).toBe(200);
      goOn();
      (await turn.reached("called"))();
      const { run } = await endOf(server, runId);
      expect(run).toMatchObject({ status: "failed", error: { code: "agent_unavailable" } });
      expect(turn.rooms.booked).toBe(0);
    },
  );
});
