/** What QUERY says of access beyond what calls over TLS show: tokens and the lifecycle. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentFile, configFile } from "../../support/deployment.ts";
import { openServer } from "../../support/dispatch.ts";
import { ISSUER_PEER } from "../../support/hosted-agents.ts";
import { packFiles } from "../../support/openwop.ts";
import { query, type TestAsker } from "../../support/querying.ts";
import { CLERK, corpusFiles } from "../../support/search-corpus.ts";

const KEYS = readFileSync(
  join(import.meta.dirname, "../../exchanges/deployment/jwks.json"),
  "utf8",
);

async function obstaclesOf(filter: object, policies: object, asker: TestAsker) {
  const server = await openServer(corpusFiles({ policies }));
  const [found] = await query(server, { intent: "*", filter }, asker);
  return { callable: found?.content.callable, obstacles: found?.content.obstacles };
}

describe("access", () => {
  it("needs a token where the method needs one", async () => {
    const oauth = {
      issuer: "https://issuer.example",
      jwks_file: "jwks.json",
      required_on_methods: ["REFUND"],
    };
    const files = { ...corpusFiles({ policies: { oauth } }), "jwks.json": KEYS };
    const server = await openServer(files);
    const [found] = await query(server, { intent: "*", filter: { method: "REFUND" } }, {});
    expect(found?.content).toMatchObject({
      callable: false,
      obstacles: ["oauth-required", "credentials-missing", "scope-violation"],
      missing_scopes: ["billing:write"],
    });
  });

  it.each<readonly [string, object, TestAsker, readonly string[]]>([
    ["an agent", {}, { agent: CLERK }, ["genesis-issuer-cert-required"]],
    ["a certificate", {}, { peer: ISSUER_PEER }, []],
    ["anybody on an open server", { lifecycle_auth: "open" }, { agent: CLERK }, []],
    ["nobody on an open server", { lifecycle_auth: "open" }, {}, ["credentials-missing"]],
  ])("to the lifecycle takes a certificate: %s", async (_who, identity, asker, obstacles) => {
    const found = await obstaclesOf({ method: "REVOKE" }, { identity }, asker);
    expect(found).toEqual({ callable: obstacles.length === 0, obstacles });
  });

  it("to an endpoint of the protocol that asks for scopes takes them", async () => {
    const agents = [
      ["a", "able", ["runs:create"]],
      ["b", "unable", ["runs:read"]],
    ] as const;
    const server = await openServer({
      "agtp-server.toml": configFile({ openwop: {} }),
      "endpoints/.keep": "",
      ...packFiles({}),
      ...Object.fromEntries(
        agents.map(([digit, name, scopes]) => [
          `agents/${name}.agent.json`,
          agentFile({ agent_id: digit.repeat(64), name, scopes_accepted: scopes }),
        ]),
      ),
    });
    const path = "/agents/vendor.test.pack.nobody";
    const filter = { method: "EXECUTE", path: "/agents/{" };
    for (const [digit, , [scope]] of agents) {
      for (const headers of [{}, { "Authority-Scope": scope }]) {
        const asker = { agent: digit.repeat(64), headers };
        const [found, ...others] = await query(server, { intent: "*", filter }, asker);
        const request = { method: "EXECUTE", path, body: { task: "go" } };
        const identity = { "Agent-ID": asker.agent, ...headers };
        const { status } = await server.send({ ...request, headers: identity });
        const missing = status === 455 ? ["runs:create"] : [];
        expect([others, found?.content.tier, status]).toEqual([[], "A", digit === "a" ? 404 : 455]);
        expect(found?.content).toMatchObject({ callable: status === 404, missing_scopes: missing });
      }
    }
  });
});
