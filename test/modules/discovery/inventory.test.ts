/** Long answers that are the same for everybody: however many wait for one, there is one of it. */

import { describe, expect, it } from "vitest";
import { Exchange } from "../../../src/dispatch/exchange.ts";
import type { Request } from "../../../src/wire/message.ts";
import { isWireFault } from "../../../src/wire/message-parser.ts";
import { RequestParser } from "../../../src/wire/request-parser.ts";
import { endpointFile } from "../../support/deployment.ts";
import { encodeRequest, openServer, type TestServer } from "../../support/dispatch.ts";
import { ALICE, hostedFiles } from "../../support/hosted-agents.ts";
import { JUDGE, NORA, negotiationFiles, propose } from "../../support/negotiation.ts";

const LONG = "x".repeat(100_000);

const RECIPE = `
[[recipe]]
name = "rest"
version = "1"
description = "${LONG}"
[recipe.pattern]
method_exact = "RENT"
path_exact = "/well"
[[recipe.steps]]
method = "QUERY"
path = "/lists"
capture_as = "list"
[recipe.aggregation]
mode = "last"
`;

/** An endpoint that takes long to describe. */
function longEndpoint(name: string): string {
  const handler = { type: "registered_function", function: name };
  const text = endpointFile({ method: "FETCH", path: "/long", handler });
  return text.replace("An endpoint of a test.", LONG);
}

/** The body of an answer, as it is handed to the connection. */
async function bodyOf({ deployment }: TestServer, path: string, agent: string): Promise<unknown> {
  const parser = new RequestParser(deployment.config.limits);
  const headers = { "Agent-ID": agent };
  parser.push(encodeRequest({ method: "DISCOVER", path, headers, body: {} }));
  const request = parser.next();
  if (request === undefined || isWireFault(request)) throw new Error("that is no request");
  const peer = { address: "127.0.0.1", port: 4480 };
  const exchange = new Exchange(request satisfies Request, peer, performance.now());
  const { status, body } = await deployment.dispatcher.answer(exchange);
  expect(status).toBe(200);
  return body;
}

describe("what DISCOVER answers with at length", () => {
  it.each(["/methods", "/tools", "/patterns", "/genesis"])(
    "is one body for all who ask for it: %s",
    async (path) => {
      const files = { "endpoints/long.toml": longEndpoint("handlers.echo") };
      const rcns = { policies: { rcns: { enabled: true } } };
      const recipes = { "recipes/rest.toml": RECIPE };
      const server = await openServer(hostedFiles({}, rcns, { ...files, ...recipes }));
      const first = await bodyOf(server, path, ALICE);
      expect(first).toBeInstanceOf(Uint8Array);
      expect((first as Uint8Array).length).toBeGreaterThan(path === "/genesis" ? 100 : 100_000);
      for (let more = 0; more < 3; more += 1) {
        expect(await bodyOf(server, path, ALICE)).toBe(first);
      }
    },
  );

  it("is one body for an agent that negotiated more, however often it asks, until it has others", async () => {
    const files = negotiationFiles();
    const long = { "endpoints/long.toml": longEndpoint("handlers.facts") };
    const server = await openServer({ ...files, ...long });
    const negotiate = async (path: string): Promise<void> => {
      const request = propose({ ...JUDGE, path }, { persistent: true });
      const reply = await server.send({ ...request, headers: { "Agent-ID": NORA } });
      expect(reply.status).toBe(263);
    };
    const common = await bodyOf(server, "/methods", NORA);
    await negotiate("/rulings");
    const own = await bodyOf(server, "/methods", NORA);
    expect(String(own)).not.toBe(String(common));
    for (let more = 0; more < 3; more += 1) {
      expect(await bodyOf(server, "/methods", NORA)).toBe(own);
    }
    await negotiate("/verdicts");
    const other = await bodyOf(server, "/methods", NORA);
    expect(Buffer.from(other as Uint8Array).toString()).toContain("/verdicts");
    expect(Buffer.from(own as Uint8Array).toString()).toContain("/rulings");
  });
});
