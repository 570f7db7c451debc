/** What is another's stays another's, also where a recipe of the operator's leads to it. */
import { describe, expect, it } from "vitest";
import { endpointFile } from "../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { JUDGE, NORA, negotiationFiles, OPAL, OTTO, propose } from "../support/negotiation.ts";
import { askAs, callIn, escalation, refusalOf, resultOf } from "../support/waiting.ts";

/** A recipe with one step at the server itself. */
function recipe(name: string, method: string, parameters: string): string {
  return `
[[recipe]]
name = "${name}"
version = "1"
description = "Does one thing for its caller."
[recipe.pattern]
method_exact = "REVIEW"
path_exact = "/of-${name}"
[[recipe.steps]]
method = "${method}"
${parameters}
[recipe.aggregation]
mode = "last"
`;
}

function source(name: string, kind: string, value: string): string {
  return `[recipe.steps.parameters.${name}]\nkind = "${kind}"\nvalue = ${JSON.stringify(value)}\n`;
}

function composed(name: string): string {
  return endpointFile({
    ...{ method: "REVIEW", path: `/of-${name}`, errors: ["composition_failed"] },
    properties: { what: {} },
    handler: { type: "composition", recipe: name },
  });
}

const STEPS = {
  decide: recipe(
    "decide",
    "CONFIRM",
    source("target_id", "proposal", "what") + source("status", "constant", "accepted"),
  ),
  borrow: recipe(
    "borrow",
    "EXECUTE",
    source("action", "constant", "EVALUATE /verdicts") + source("parameters", "proposal", "what"),
  ),
  release: recipe("release", "SUSPEND", source("synthesis_id", "proposal", "what")),
  reveal: recipe(
    "reveal",
    "INSPECT",
    source("target", "constant", "contract") + source("synthesis_id", "proposal", "what"),
  ),
};

function open(): Promise<TestServer> {
  const files = Object.entries(STEPS).flatMap(([name, text]) => [
    [`recipes/${name}.toml`, text],
    [`endpoints/${name}.toml`, composed(name)],
  ]);
  return openServer({ ...negotiationFiles(), ...Object.fromEntries(files) });
}

function through(
  server: TestServer,
  agentId: string,
  name: string,
  what: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  return askAs(server, agentId, { method: "REVIEW", path: `/of-${name}`, headers, body: { what } });
}

function stepOf({ body }: TestReply): unknown {
  return body["error"]?.["details"];
}

// AGTP-API §12.1: the caller's identity, and no more authority
describe("a composition that confirms", () => {
  it("decides nothing for who may not, and the task goes on waiting", async () => {
    const server = await open();
    const id = resultOf(await askAs(server, NORA, escalation("t-1")), "escalation_id");
    for (const agent of [OTTO, NORA]) {
      const reply = await through(server, agent, "decide", id);
      expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
      expect(stepOf(reply)).toMatchObject({
        status: 403,
        error: { code: "confirmation-forbidden" },
      });
      expect(refusalOf(await askAs(server, NORA, callIn("t-1")))).toEqual([409, "task-paused"]);
    }
    expect((await through(server, OPAL, "decide", id)).status).toBe(200);
    expect((await askAs(server, NORA, callIn("t-1"))).status).toBe(200);
  });
});

describe("a composition that leads to a contract", () => {
  it("finds none, whatever the request around it presents, and lets nobody else end one", async () => {
    const server = await open();
    const approved = await askAs(server, NORA, propose(JUDGE));
    const id = String(approved.body["synthesis_id"]);
    const input = { subject: "barn" };
    const judge = () => askAs(server, NORA, { method: "EVALUATE", path: "/verdicts", body: input });
    expect((await judge()).status).toBe(200);
    for (const agent of [OTTO, NORA]) {
      for (const headers of [{}, { "Synthesis-Id": id }]) {
        const reply = await through(server, agent, "borrow", input, headers);
        expect(refusalOf(reply), agent).not.toEqual([200, undefined]);
        expect(reply.body, agent).not.toHaveProperty("verdict");
      }
    }
    const released = await through(server, OTTO, "release", id);
    expect(refusalOf(released)).toEqual([422, "composition_failed"]);
    expect((await judge()).status).toBe(200);
    expect((await through(server, NORA, "release", id)).status).toBe(200);
    expect((await judge()).status).not.toBe(200);
  });

  it("shows it to nobody else either", async () => {
    const server = await open();
    const approved = await askAs(server, NORA, propose(JUDGE));
    const id = String(approved.body["synthesis_id"]);
    expect((await through(server, NORA, "reveal", id)).status).toBe(200);
    const reply = await through(server, OTTO, "reveal", id);
    expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    expect(JSON.stringify(reply.body)).not.toContain("input_schema");
  });
});
