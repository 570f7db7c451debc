/** An agent that has never seen a server finds what it needs, and calls it, by QUERY's answer alone. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FILTER_SCHEMA } from "../../src/modules/search/filter.ts";
import { compileOwn } from "../../src/schema/schema.ts";
import { openDaemon, type RawClient } from "../support/daemon.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { PATIENCE } from "../support/patience.ts";
import type { QueriedResult } from "../support/querying.ts";
import { CLERK, corpusFiles, GUEST } from "../support/search-corpus.ts";

async function send(client: RawClient, request: TestRequest): Promise<TestReply> {
  const before = (await client.replies(0)).length;
  client.write(encodeRequest(request));
  const reply = (await client.replies(before + 1))[before];
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

async function query(client: RawClient, agent: string, body: object) {
  const reply = await send(client, { method: "QUERY", headers: { "Agent-ID": agent }, body });
  return reply.body["result"]?.["results"] as unknown as readonly QueriedResult[];
}

// AGTP "QUERY"
describe("an agent that has never seen the server", () => {
  it.each([
    ["reserve a room for a guest", "BOOK"],
    ["cancel a reservation", "CANCEL"],
    ["issue an invoice", "CREATE"],
    ["arrange a meeting", "SCHEDULE"],
    ["is the product in stock", "QUERY"],
    ["what will the weather be", "FORECAST"],
  ])("does what it set out to do: %s", async (intent, method) => {
    const { connect } = await openDaemon(corpusFiles());
    const client = await connect();
    const [best] = await query(client, CLERK, { intent, max_results: 1 });
    const example = best?.content.example;
    if (best === undefined || example === undefined) throw new Error("nothing was found");
    expect(best.content.callable).toBe(true);
    const headers = { "Agent-ID": CLERK };
    const reply = await send(client, { ...example, headers });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ method, path: example.path });
  });

  it("can call whatever it is told that it can call, and nothing that it is told it cannot", async () => {
    const { connect } = await openDaemon(corpusFiles());
    const client = await connect();
    const filter = { tier: "B" };
    for (const agent of [CLERK, GUEST]) {
      const found = await query(client, agent, { intent: "*", filter, max_results: 100 });
      expect(found).toHaveLength(16);
      for (const { content } of found) {
        const { example } = content;
        if (example === undefined) throw new Error(`${content.path} has no example`);
        const reply = await send(client, { ...example, headers: { "Agent-ID": agent } });
        const expected = content.callable ? 200 : 455;
        expect(reply.status, `${content.method} ${content.path}`).toBe(expected);
        if (!content.callable) {
          expect(reply.body["missing_scopes"]).toEqual(content.missing_scopes);
          expect(content.obstacles).toEqual([reply.body["error"]?.["code"]]);
        }
      }
    }
  });

  it("comes by the words of the natural format, too", async () => {
    const { connect } = await openDaemon(corpusFiles());
    const client = await connect();
    const body = { intent: "ship an order", format: "natural", max_results: 1 };
    const [best] = (await query(client, CLERK, body)) as unknown as { content: string }[];
    const [, method = "", path = "", json = ""] =
      /Example: (\S+) (\S+) (\{.*\})$/.exec(best?.content ?? "") ?? [];
    const headers = { "Agent-ID": CLERK };
    const reply = await send(client, { method, path, headers, body: JSON.parse(json) });
    expect(reply.status).toBe(200);
  });
});

describe("the validator of filters", () => {
  it("is generated before anybody asks by one", async () => {
    const check = vi.spyOn(compileOwn(FILTER_SCHEMA), "check");
    onTestFinished(() => check.mockRestore());
    await openDaemon(corpusFiles());
    await vi.waitFor(() => expect(check).toHaveBeenCalledOnce(), PATIENCE);
  });
});

describe("the gates and QUERY", () => {
  it.each<readonly [string, object, Readonly<Record<string, string>>]>([
    ["a claim of less than is held", {}, { "Agent-ID": CLERK, "Authority-Scope": "billing:read" }],
    ["nobody", {}, {}],
    [
      "a stranger without a claim",
      { identity: { unknown_agents: "accept" } },
      { "Agent-ID": "7".repeat(64) },
    ],
    [
      "a stranger with a claim",
      { identity: { unknown_agents: "accept" } },
      { "Agent-ID": "7".repeat(64), "Authority-Scope": "booking:*" },
    ],
  ])("agree about %s", async (_who, policies, headers) => {
    const { connect } = await openDaemon(corpusFiles({ policies }));
    const client = await connect();
    const body = { intent: "*", filter: { kind: "endpoint" }, max_results: 100 };
    const answer = await send(client, { method: "QUERY", headers, body });
    const found = answer.body["result"]?.["results"] as unknown as readonly QueriedResult[];
    // The lifecycle is for certificates, and SUSPEND looks for its session first.
    const others = /^(?:ACTIVATE|DEACTIVATE|REINSTATE|REVOKE|DEPRECATE|SUSPEND) /;
    for (const { content } of found) {
      const { example, method, path } = content;
      if (example === undefined || others.test(`${method} ${path}`)) continue;
      const reply = await send(client, { ...example, headers });
      const code = String(reply.body["error"]?.["code"]);
      const gates = [
        ...["credentials-missing", "agent-unauthenticated", "scope-required", "scope-violation"],
      ];
      const isRefused = gates.includes(code);
      expect(content.callable, `${method} ${path} ${reply.text}`).toBe(!isRefused);
      if (isRefused) expect(content.obstacles).toContain(code);
    }
  });
});
