import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { serverKey } from "../../support/delegation.ts";
import { configFile } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";

const KEY = serverKey(51);
const PEER = { name: "annex", server_id: "annex.example", public_key: KEY.text };

function problemsOf(peers: readonly object[], tables: Readonly<Record<string, object>> = {}) {
  const signing = { key: "signing.pem" };
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ peers, signing, ...tables }),
    "signing.pem": KEY.privatePem,
    "cert.pem": "x",
  });
  const { problems } = loadConfig(join(directory, "agtp-server.toml"), {});
  return problems.filter(({ severity }) => severity !== "warning").map(({ key }) => key);
}

// AGTP "DELEGATE"
describe("[[peers]]", () => {
  it("are servers that tasks come from, and go to where they have a URI", () => {
    const reachable = {
      uri: "agtp://annex.example:4480",
      scopes: ["booking:*"],
      agents: ["porter"],
    };
    expect(problemsOf([PEER, { ...PEER, ...reachable, name: "b", server_id: "b" }])).toEqual([]);
  });

  it("are told apart, from one another and from this server", () => {
    expect(problemsOf([PEER, PEER])).toEqual(["peers[1].name", "peers[1].server_id"]);
    expect(problemsOf([{ ...PEER, server_id: "test" }])).toEqual(["peers[0].server_id"]);
  });

  it("need signatures and records on our side", () => {
    expect(problemsOf([PEER], { signing: {} })).toEqual(["signing.key"]);
    expect(problemsOf([PEER], { attribution: { enabled: false } })).toEqual([
      "attribution.enabled",
    ]);
  });

  it.each([
    ["name", { name: "a b" }],
    ["public_key", { public_key: "x" }],
    ["uri", { uri: "https://annex.example" }],
    ["uri", { uri: "agtp://annex.example/agents/x" }],
    ["fingerprint", { fingerprint: "ab" }],
    ["key", { cert: "cert.pem" }],
    ["ca", { ca: "missing.pem" }],
    ["max_connections", { max_connections: 0 }],
    ["scopes[0]", { scopes: ["room"] }],
    ["portt", { portt: 1 }],
  ])("are refused for their %s", (key, changes) => {
    expect(problemsOf([{ ...PEER, ...changes }])).toEqual([`peers[0].${key}`]);
  });
});
