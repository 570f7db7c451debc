import { describe, expect, it } from "vitest";
import { parseUri, splitUri } from "../../src/client/uri.ts";
import { growthOf, NEARLY_LINEAR } from "../support/growth.ts";

const ID = "0123456789abcdef".repeat(4);

// AGTP "URI Scheme"
describe("parseUri", () => {
  it.each([
    ["Form 1a", `agtp://${ID}@acme.example`, { host: "acme.example", port: 4480, agentId: ID }],
    [
      "Form 1a with a port",
      `agtp://${ID}@10.0.0.1:99`,
      { host: "10.0.0.1", port: 99, agentId: ID },
    ],
    ["Form 2", "agtp://localhost:4481", { host: "localhost", port: 4481 }],
    ["Form 2 with an address", "agtp://192.0.2.7/", { host: "192.0.2.7", port: 4480 }],
    ["Form 2 with an IPv6 address", "agtp://[::1]:5", { host: "::1", port: 5 }],
    ["the first port there is", "agtp://localhost:1", { host: "localhost", port: 1 }],
    ["the last port there is", "agtp://localhost:65535", { host: "localhost", port: 65_535 }],
    ["Form 2a", "agtp://acme.example", { host: "acme.example", port: 4480 }],
    [
      "Form 3",
      "agtp://acme.example/agents/lauren",
      { host: "acme.example", port: 4480, agentName: "lauren", path: "/agents/lauren" },
    ],
    [
      "Form 4",
      "agtp://agtp.acme.example/agents/my_agent-2",
      {
        ...{ host: "agtp.acme.example", port: 4480 },
        ...{ agentName: "my_agent-2", path: "/agents/my_agent-2" },
      },
    ],
    [
      "a path and a query",
      "AGTP://localhost/orders/7?a=%20&b=?",
      { host: "localhost", port: 4480, path: "/orders/7", query: "a=%20&b=?" },
    ],
    ["a query alone", "agtp://localhost?a=b", { host: "localhost", port: 4480, query: "a=b" }],
    [
      "a path below an agent, which is a path",
      "agtp://h/agents/lauren/status",
      { host: "h", port: 4480, path: "/agents/lauren/status" },
    ],
  ])("reads %s", (_, text, uri) => {
    expect(parseUri(text)).toEqual(uri);
  });

  it.each([
    [`agtp://${ID}`, "a host is needed, agtp://AGENT_ID@HOST"],
    ["https://localhost", 'expected it to begin with "agtp://"'],
    ["agtp://localhost/a#b", "a fragment may not be sent"],
  ])("says what is wrong with %s", (text, reason) => {
    expect(() => parseUri(text)).toThrow(reason);
  });

  it.each([
    "localhost",
    "https://localhost",
    "agtp:localhost",
    "agtp://",
    "agtp:///path",
    "agtp://host:",
    "agtp://host:0",
    "agtp://host:65536",
    "agtp://host:4480x",
    "agtp://host:-1",
    "agtp://user@host",
    `agtp://${ID.toUpperCase()}@host`,
    `agtp://${ID}0@host`,
    `agtp://${ID}@`,
    "agtp://host#fragment",
    "agtp://[::1",
    "agtp://[nonsense]",
    "agtp://::1",
    "agtp://ho st",
    "agtp://höst",
    "agtp://-host",
  ])("refuses %j", (text) => {
    expect(() => parseUri(text)).toThrow(expect.objectContaining({ code: "ERR_AGTP_URI" }));
  });

  it("takes no time over a long one", () => {
    expect(() => parseUri(`agtp://${"a.".repeat(50_000)}@`)).toThrow();
    expect(() => parseUri(`agtp://${"[:".repeat(50_000)}`)).toThrow();
  });
});

describe("splitUri", () => {
  it("has nothing of a URI with a fragment", () => {
    expect(splitUri("agtp://host:4480/path#part")).toBeUndefined();
    expect(splitUri("agtp://host:4480/path?a=b#part")).toBeUndefined();
    expect(splitUri("agtp://#")).toBeUndefined();
  });

  it.each([":", "@", "[", "a", "/", "?"])("takes a text of %s apart in proportion", async (one) => {
    const split = (size: number): unknown => splitUri(`agtp://:${one.repeat(size)}#`);
    expect(await growthOf(split, 2_000)).toBeLessThan(NEARLY_LINEAR);
  });
});
