import { describe, expect, it } from "vitest";
import { readAccess, readAddress, variablePrefix } from "../../../src/modules/agntcy/upstream.ts";

describe("readAddress", () => {
  it.each([
    ["https://agents.acme.example", "https://agents.acme.example", ""],
    ["https://agents.acme.example:8443/acp/", "https://agents.acme.example:8443", "/acp"],
    ["https://127.0.0.1:9000", "https://127.0.0.1:9000", ""],
  ])("takes %s", (url, origin, basePath) => {
    expect(readAddress(url, false)).toEqual({ address: { origin, basePath } });
  });

  it.each([
    ["http://agents.acme.example", true],
    ["http://127.0.0.1:9000", false],
    ["http://10.0.0.1", true],
    ["https://user:secret@agents.acme.example", true],
    ["https://agents.acme.example/?key=1", true],
    ["https://agents.acme.example/#a", true],
    ["https://169.254.169.254/latest", true],
    ["https://[fe80::1]/", true],
    ["https://0.0.0.0/", true],
    ["https://0/", true],
    ["file:///etc/passwd", true],
    ["ftp://agents.acme.example", true],
    ["agents.acme.example", true],
    ["", true],
  ])("refuses %s", (url, allowsHttp) => {
    const { fault } = readAddress(url, allowsHttp);
    expect(fault).toBeDefined();
    expect(fault).not.toContain("secret");
  });

  it.each(["http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000"])(
    "takes %s where the operator says so",
    (url) => expect(readAddress(url, true).fault).toBeUndefined(),
  );
});

describe("readAccess", () => {
  const name = "org.agntcy.mailcomposer";
  const prefix = "ORG_AGNTCY_MAILCOMPOSER_";

  it("makes a variable's name out of an agent's", () => {
    expect(variablePrefix(name)).toBe(prefix);
    expect(variablePrefix("a--b c")).toBe("A_B_C_");
  });

  it.each([
    [{ API_KEY: '{"X-API-Key":"k1"}' }, { "x-api-key": "k1" }],
    [
      { API_KEY: '{"a":"k1","b":"k2"}', API_KEY_PREFIX: '{"b":"Key"}' },
      { a: "k1", b: "Key k2" },
    ],
    [{ API_KEY: "k1" }, { "x-api-key": "k1" }],
    [{ ACCESS_TOKEN: "t" }, { authorization: "Bearer t" }],
    [{ USERNAME: "u", PASSWORD: "p" }, { authorization: "Basic dTpw" }],
    [{}, {}],
  ])("reads the credentials %j", (variables, headers) => {
    const env = Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [prefix + key, String(value)]),
    );
    expect(readAccess(name, env, undefined)).toMatchObject({ headers, faults: [] });
  });

  it("puts a key where the agent's scheme has it", () => {
    const env = { [`${prefix}API_KEY`]: "k1" };
    const scheme = { type: "apiKey", in: "header", name: "X-Agent-Key" };
    expect(readAccess(name, env, scheme).headers).toEqual({ "x-agent-key": "k1" });
    expect(readAccess(name, env, { type: "apiKey", in: "query", name: "key" }).faults.length).toBe(
      1,
    );
  });

  it.each([
    [{ API_KEY: '{"host":"evil.example"}' }],
    [{ API_KEY: '{"content-length":"0"}' }],
    [{ API_KEY: '{"a b":"k"}' }],
    [{ API_KEY: '{"a":7}' }],
    [{ API_KEY: "two\r\nlines" }],
    [{ ACCESS_TOKEN: "t", USERNAME: "u" }],
    [{ USERNAME: "a:b" }],
    [{ ID: "../other" }],
  ])("refuses %j without repeating it", (variables) => {
    const env = Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [prefix + key, value]),
    );
    const { faults } = readAccess(name, env, undefined);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join()).not.toContain("evil.example");
  });
});
