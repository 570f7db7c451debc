/** Contracts of a daemon: through reloads, through kill -9, and of a thousand agents at once. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../support/daemon.ts";
import { agentFile, type DeploymentFiles, makeDeployment } from "../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import {
  AUDIT,
  JUDGE,
  NORA,
  negotiationFiles,
  OPAL,
  OPT_IN,
  OTTO,
  presenting,
  propose,
} from "../support/negotiation.ts";
import { PATIENCE } from "../support/patience.ts";
import { recordOf } from "../support/records.ts";
import { bus, heard } from "../support/server-deployment.ts";

type Headers = Readonly<Record<string, string>>;

async function askOn(
  client: RawClient,
  agentId: string,
  request: TestRequest,
  headers: Headers = {},
): Promise<TestReply> {
  const before = (await client.replies(0)).length;
  client.write(encodeRequest({ ...request, headers: { "Agent-ID": agentId, ...headers } }));
  const reply = (await client.replies(before + 1))[before];
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

function idOf({ body }: TestReply): string {
  return String(body["synthesis_id"]);
}

function write({ directory }: TestDaemon, files: DeploymentFiles, names: readonly string[]): void {
  for (const name of names) writeFileSync(join(directory, name), files[name] ?? "");
}

function sweep(mode?: string): TestRequest {
  const body = {
    target: "stale-contracts",
    actor: "desk-7",
    ...(mode === undefined ? {} : { mode }),
  };
  return { method: "REVOKE", body };
}

/** A first step that waits until the test lets it go on, where the subject says so. */
const WAITING_HANDLERS = `
const bus = globalThis[Symbol.for("agtpd.test.bus")];
export const facts = ({ input: { subject } }) => {
  const result = { body: { facts: ["old", "red"], about: subject } };
  if (!subject.startsWith("wait")) return result;
  return new Promise((resolve) => {
    bus.once("release " + subject, () => resolve(result));
    bus.emit("started " + subject);
  });
};
export const verdict = ({ input }) => ({ body: { verdict: input.facts.length + " facts" } });
export const place = ({ input }) => ({ body: { placed: input.item } });
`;

function waitingFiles(
  tables: Readonly<Record<string, object>> = {},
  version = "1",
): DeploymentFiles {
  return { ...negotiationFiles(tables, version), "handlers.mjs": WAITING_HANDLERS };
}

const RECIPE = ["recipes/audit.toml"];

// AGTP-API §10.5
describe("a contract whose recipe is edited", () => {
  it("runs what it was made of, under the version that it had", async () => {
    const daemon = await openDaemon(waitingFiles());
    const client = await daemon.connect();
    const old = idOf(await askOn(client, NORA, AUDIT, OPT_IN));
    const edited = String(waitingFiles({}, "2")["recipes/audit.toml"]).replace('"merge"', '"list"');
    write(daemon, { "recipes/audit.toml": edited }, RECIPE);
    expect(await daemon.daemon.reload()).toEqual([]);

    const served = await askOn(client, NORA, AUDIT, presenting(old));
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts", about: "barn" } });
    const inspect = { method: "INSPECT", body: { target: "contract", synthesis_id: old } };
    expect((await askOn(client, NORA, inspect)).body["result"]).toMatchObject({
      recipe_version: "1",
      state: "active",
    });
    const endpoint = { ...JUDGE, method: "AUDIT", path: "/reviews", output_schema: {} };
    const approved = await askOn(client, OTTO, propose(endpoint));
    expect(approved.body).toMatchObject({ recipe_lineage: { recipe_version: "2" } });
    expect(idOf(approved)).not.toBe(old);
    expect((await askOn(client, OTTO, AUDIT)).body).toHaveProperty("results");
    // And the older one still does what it did.
    expect((await askOn(client, NORA, AUDIT)).body).toMatchObject({ about: "barn" });
  });

  it.each(["2", undefined])("is swept by an operator, with the recipe at %s", async (version) => {
    const daemon = await openDaemon(waitingFiles());
    const client = await daemon.connect();
    const stale = idOf(await askOn(client, NORA, AUDIT, OPT_IN));
    const planned = idOf(await askOn(client, NORA, propose(JUDGE)));
    if (version === undefined) rmSync(join(daemon.directory, "recipes/audit.toml"));
    else write(daemon, waitingFiles({}, version), RECIPE);
    expect(await daemon.daemon.reload()).toEqual([]);
    const expected = {
      synthesis_id: stale,
      originating_agent_id: NORA,
      captured_version: "1",
      current_version: version ?? null,
    };

    const reported = (await askOn(client, OPAL, sweep())).body["result"];
    expect(reported).toMatchObject({
      mode: "grandfather",
      stale_count: 1,
      audit_ids: [],
      contracts: [
        { ...expected, disposition: "grandfathered" },
        { synthesis_id: planned, disposition: "unchanged" },
      ],
    });
    expect((await askOn(client, NORA, AUDIT, presenting(stale))).status).toBe(200);

    const swept = (await askOn(client, OPAL, sweep("invalidate"))).body["result"];
    expect(swept).toMatchObject({
      stale_count: 1,
      contracts: [{ ...expected, disposition: "evicted" }, { disposition: "unchanged" }],
      audit_ids: [expect.stringMatching(/^[0-9a-f]{64}$/)],
    });
    expect((await askOn(client, NORA, AUDIT, presenting(stale))).status).toBe(404);
    expect((await askOn(client, NORA, AUDIT)).status).toBe(404);
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    const events = (await askOn(client, NORA, inspect)).body["result"]?.["events"];
    expect(events?.["0"]?.["payload"]).toMatchObject({
      event_type: "rcns_release",
      synthesis_id: stale,
      reason: "policy-change-invalidation",
      actor: "desk-7",
      actor_agent_id: OPAL,
      owner_id: "owner-of-nora",
    });
  });

  it("takes no step after it was swept while it ran", async () => {
    const daemon = await openDaemon(waitingFiles());
    const client = await daemon.connect();
    const id = idOf(await askOn(client, NORA, AUDIT, OPT_IN));
    write(daemon, waitingFiles({}, "2"), RECIPE);
    await daemon.daemon.reload();
    const started = heard("started", "wait-1");
    const running = askOn(client, NORA, { ...AUDIT, body: { subject: "wait-1" } }, presenting(id));
    await started;
    const other = await daemon.connect();
    await askOn(other, OPAL, sweep("invalidate"));
    bus.emit("release wait-1");
    const reply = await running;
    expect(reply).toMatchObject({
      status: 422,
      body: { error: { code: "composition_failed", details: { step: 2, status: 464 } } },
    });
    expect(recordOf(reply).payload).toMatchObject({ synthesis_id: id });
  });

  it("is swept by what on_policy_change says, where the operator does not", async () => {
    const rcns = { enabled: true, min_trust_tier: 2, on_policy_change: "invalidate" };
    const daemon = await openDaemon(waitingFiles({ policies: { rcns } }));
    const client = await daemon.connect();
    const id = idOf(await askOn(client, NORA, AUDIT, OPT_IN));
    write(daemon, waitingFiles({}, "2"), RECIPE);
    await daemon.daemon.reload();
    const swept = (await askOn(client, OPAL, sweep())).body["result"];
    expect(swept).toMatchObject({ mode: "invalidate", contracts: [{ disposition: "evicted" }] });
    expect((await askOn(client, NORA, AUDIT, presenting(id))).status).toBe(404);
  });
});

// AGTP-API §10.6, §11
describe("proposals that are evaluated later", () => {
  it("are evaluated once, whatever is reloaded meanwhile", async () => {
    const files = waitingFiles({ synthesis: { async_evaluation: true } });
    const daemon = await openDaemon(files);
    const client = await daemon.connect();
    const proposals: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      client.write(encodeRequest({ ...propose(JUDGE), headers: { "Agent-ID": NORA } }));
      if (count === 5) void daemon.daemon.reload();
    }
    for (const { body } of await client.replies(10)) proposals.push(String(body["proposal_id"]));
    await daemon.daemon.reload();
    const ids = new Set<string>();
    for (const id of proposals) {
      const poll = { method: "QUERY", path: `/proposals/${id}` };
      const answer = await vi.waitFor(async () => {
        const reply = await askOn(client, NORA, poll);
        if (reply.status === 261) throw new Error("not yet");
        return reply;
      }, PATIENCE);
      expect(answer.status).toBe(263);
      ids.add(idOf(answer));
    }
    expect(ids.size).toBe(10);
    const list = await askOn(client, NORA, { method: "DISCOVER", path: "/contracts" });
    expect(list.body).toHaveLength(10);
  });
});

// AGTP-API §10.1.4
describe("what was negotiated with a daemon that is killed", () => {
  it("stands: what was offered, approved, revoked and swept away", async () => {
    const deployment = makeDeployment(negotiationFiles());
    const first = await startProgram(deployment.configPath);
    const before = await first.connect();
    const offered = idOf(await askOn(before, NORA, AUDIT, OPT_IN));
    const approved = idOf(await askOn(before, NORA, propose(JUDGE)));
    const revoked = idOf(await askOn(before, OTTO, AUDIT, OPT_IN));
    const revoke = { target: "contract", synthesis_id: revoked };
    await askOn(before, OTTO, { method: "REVOKE", body: revoke });
    first.child.kill("SIGKILL");
    await first.outcome;

    const second = await startProgram(deployment.configPath);
    const after = await second.connect();
    const gone = await askOn(after, OTTO, AUDIT, presenting(revoked));
    expect(gone).toMatchObject({ status: 464, body: { reason: "contract-revoked" } });
    const stolen = await askOn(after, OTTO, AUDIT, presenting(offered));
    expect(stolen).toMatchObject({ status: 464, body: { reason: "contract-not-yours" } });
    expect((await askOn(after, NORA, AUDIT)).status).toBe(404);
    const served = await askOn(after, NORA, AUDIT, presenting(offered));
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
    const judged = { method: "EVALUATE", path: "/verdicts", body: { subject: "barn" } };
    const reply = await askOn(after, NORA, judged);
    expect(reply).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
    expect(recordOf(reply).payload).toMatchObject({ synthesis_id: approved });
    second.child.kill("SIGKILL");
    await second.outcome;

    const third = await startProgram(deployment.configPath);
    const last = await third.connect();
    // What was accepted once is its agent's by its bare pair.
    expect((await askOn(last, NORA, AUDIT)).status).toBe(200);
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    const result = (await askOn(last, NORA, inspect)).body["result"];
    expect(result).toMatchObject({
      event_count: 2,
      events: [
        { payload: { event_type: "rcns_propose_accepted", synthesis_id: offered } },
        { payload: { event_type: "rcns_propose_accepted", synthesis_id: approved } },
      ],
    });
    third.child.kill("SIGKILL");
  });

  it("is evaluated by the next one, where it was taken on and not evaluated", async () => {
    const deployment = makeDeployment(negotiationFiles({ synthesis: { async_evaluation: true } }));
    const first = await startProgram(deployment.configPath);
    const client = await first.connect();
    const requests = Array.from({ length: 50 }, () =>
      encodeRequest({ ...propose(JUDGE), headers: { "Agent-ID": NORA } }),
    );
    client.write(Buffer.concat(requests));
    const replies = await client.replies(50);
    first.child.kill("SIGKILL");
    await first.outcome;
    const second = await startProgram(deployment.configPath);
    const after = await second.connect();
    for (const { body } of replies) {
      const poll = { method: "QUERY", path: `/proposals/${String(body["proposal_id"])}` };
      await vi.waitFor(async () => {
        expect((await askOn(after, NORA, poll)).status).toBe(263);
      }, PATIENCE);
    }
    second.child.kill("SIGKILL");
  });
});

// AGTP-API §4.5
describe("a contract that uses a method which the catalog has no more", () => {
  it("is over from the start on, and its agent is told why", async () => {
    const deployment = makeDeployment(negotiationFiles());
    const first = await startProgram(deployment.configPath);
    const before = await first.connect();
    const affected = idOf(await askOn(before, NORA, AUDIT, OPT_IN));
    first.child.kill("SIGTERM");
    await first.outcome;

    const file = join(deployment.directory, "catalog/methods.json");
    const catalog = JSON.parse(readFileSync(file, "utf8"));
    delete catalog.verbs.ANALYZE;
    writeFileSync(file, JSON.stringify(catalog));
    const second = await startProgram(deployment.configPath);
    const line = await second.line("contract-revoked");
    expect(line).toMatchObject({ synthesis_id: affected, agent_id: NORA });
    const after = await second.connect();
    const presented = await askOn(after, NORA, AUDIT, presenting(affected));
    expect(presented).toMatchObject({
      status: 464,
      body: { reason: "contract-revoked", explanation: expect.stringContaining("ANALYZE") },
    });
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    await vi.waitFor(async () => {
      const { body } = await askOn(after, NORA, inspect);
      expect(body["result"]?.["events"]?.["0"]?.["payload"]).toMatchObject({
        event_type: "rcns_release",
        synthesis_id: affected,
        reason: "catalog-method-removed",
      });
    }, PATIENCE);
    second.child.kill("SIGKILL");
  });
});

// AGTP-API §10.1.4
describe("a thousand agents that negotiate at once", () => {
  const agents = Array.from({ length: 1000 }, (_, index) =>
    index.toString(16).padStart(8, "0").repeat(8),
  );

  it("get their own contracts, and nobody else's", async () => {
    const documents = agents.map((agent_id, index) => [
      `agents/agent-${index}.agent.json`,
      agentFile({ agent_id, name: `a${index}`, scopes_accepted: ["rcns:negotiate", "facts:read"] }),
    ]);
    const rcns = { enabled: true, min_trust_tier: 3, rate_limit_per_minute: 2 };
    const daemon = await openDaemon({
      ...waitingFiles({ policies: { rcns } }),
      ...Object.fromEntries(documents),
    });
    const clients = await Promise.all(Array.from({ length: 20 }, () => daemon.connect()));
    const all = async (headers: (index: number) => Headers): Promise<readonly TestReply[]> => {
      const replies = clients.map(async (client, at) => {
        const own = [...agents.keys()].filter((index) => index % clients.length === at);
        const before = (await client.replies(0)).length;
        client.write(
          Buffer.concat(
            own.map((index) =>
              encodeRequest({
                ...AUDIT,
                body: { subject: `s${index}` },
                headers: { "Agent-ID": agents[index] ?? "", ...headers(index) },
              }),
            ),
          ),
        );
        const answers = (await client.replies(before + own.length)).slice(before);
        return own.map((index, position) => ({ index, reply: answers[position] }));
      });
      const sorted: TestReply[] = [];
      for (const { index, reply } of (await Promise.all(replies)).flat()) {
        if (reply !== undefined) sorted[index] = reply;
      }
      return sorted;
    };

    const offers = await all(() => OPT_IN);
    expect(new Set(offers.map(({ status }) => status))).toEqual(new Set([461]));
    const ids = offers.map(idOf);
    expect(new Set(ids).size).toBe(agents.length);
    const stolen = await all((index) => presenting(ids[(index + 1) % ids.length] ?? ""));
    expect(new Set(stolen.map(({ body }) => body["reason"]))).toEqual(
      new Set(["contract-not-yours"]),
    );
    const served = await all((index) => presenting(ids[index] ?? ""));
    for (const [index, { status, body }] of served.entries()) {
      expect([status, body["about"]]).toEqual([200, `s${index}`]);
    }
    const [client] = clients;
    if (client === undefined) throw new Error("no connection");
    const list = await askOn(client, agents[7] ?? "", { method: "DISCOVER", path: "/contracts" });
    expect(list.body).toMatchObject([{ synthesis_id: ids[7], originating_agent_id: agents[7] }]);
    expect(list.body).toHaveLength(1);
  });
});

// AGTP-API §10.6
describe("an agent that sends all its proposals at once", () => {
  it("lets others have their answers between any two of them", async () => {
    const daemon = await openDaemon(waitingFiles());
    const hostile = await daemon.connect();
    const other = await daemon.connect();
    const flood = Array.from({ length: 100 }, (_, index) =>
      encodeRequest({ ...propose(unanswerable(index)), headers: { "Agent-ID": NORA } }),
    );
    const flooded = hostile.replies(flood.length).then(() => "over");
    hostile.write(Buffer.concat(flood));
    const request = { method: "QUERY", path: "/facts", body: { subject: "barn" } };
    let answered = 0;
    const asking = async (): Promise<string> => {
      for (;;) {
        await askOn(other, OTTO, request);
        answered += 1;
      }
    };
    await Promise.race([flooded, asking()]);
    expect(answered).toBeGreaterThan(25);
    expect((await hostile.replies(100)).map(({ status }) => status)).toEqual(Array(100).fill(463));
    other.destroy();
  });
});

/** Takes long to look into, and comes to nothing. */
function unanswerable(round: number): object {
  const schema = { anyOf: [{ type: "string" }, { type: "integer", minimum: round }] };
  const properties = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [`p${index}`, schema]),
  );
  const output = { type: "object", required: ["moon"], properties: { moon: {} } };
  return { ...JUDGE, input_schema: { type: "object", properties }, output_schema: output };
}
