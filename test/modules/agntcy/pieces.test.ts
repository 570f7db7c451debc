/** Addresses, credentials, options, event streams and schemas: the pieces that need no server. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseOption } from "../../../src/modules/agntcy/choose-option.ts";
import { nestSchema } from "../../../src/modules/agntcy/endpoints/endpoint-schemas.ts";
import { readManifest } from "../../../src/modules/agntcy/manifest/read-manifest.ts";
import {
  EventStreamParser,
  MAX_FRAME_LENGTH,
} from "../../../src/modules/agntcy/runs/run-stream.ts";
import { readAccess, readAddress, variablePrefix } from "../../../src/modules/agntcy/upstream.ts";
import { prepareMeteredCheck } from "../../../src/schema/metered-schema.ts";
import { agentManifest, remote, SOURCE } from "../../support/agntcy.ts";

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

describe("chooseOption", () => {
  const service = { ...remote("https://a.example"), name: "svc" };
  const read = (options: readonly object[]) => {
    const { manifest } = readManifest(JSON.stringify(agentManifest({ options })), "m.json");
    if (manifest === undefined) throw new Error("the manifest is not valid");
    return manifest;
  };

  it("takes the option of a name, whatever its type", () => {
    const manifest = read([SOURCE, service]);
    expect(chooseOption(manifest, "svc", undefined)).toMatchObject({ kind: "callable" });
    expect(chooseOption(manifest, "src", undefined)).toMatchObject({ kind: "declared" });
    expect(chooseOption(manifest, "scr", undefined).kind).toBe("unknown");
  });

  it("takes the first that can be called, else the first", () => {
    expect(chooseOption(read([SOURCE, service]), undefined, undefined).kind).toBe("callable");
    const declared = chooseOption(read([SOURCE]), undefined, undefined);
    expect(declared).toMatchObject({ kind: "declared", option: { name: "src" } });
    expect(JSON.stringify(declared)).toContain("ORG_AGNTCY_MAILCOMPOSER_ENDPOINT");
  });

  it("calls what the operator has deployed", () => {
    const chosen = chooseOption(read([SOURCE]), "src", "https://b.example");
    expect(chosen).toMatchObject({ kind: "callable", service: { url: "https://b.example" } });
  });
});

describe("EventStreamParser", () => {
  const stream =
    'id: 1\nevent: agent_event\ndata: {"a":1}\n\n:id: 2\r\nevent: b\r\ndata: x\r\ndata: y\r\n\r\n';

  it("reads frames in whatever pieces they come, keep-alives stuck to them", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const parser = new EventStreamParser();
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const frames = at
          .slice(1)
          .flatMap((end, index) => [...parser.push(stream.slice(at[index], end))]);
        expect(frames).toEqual([
          { event: "agent_event", data: '{"a":1}' },
          { event: "b", data: "x\ny" },
        ]);
      }),
    );
  });

  it("keeps no more than one frame of bounded length", () => {
    const parser = new EventStreamParser();
    for (let at = 0; at < 10 && !parser.isOverlong; at += 1)
      parser.push("x".repeat(MAX_FRAME_LENGTH / 4));
    expect(parser.isOverlong).toBe(true);
    expect(parser.push("\n\ndata: 1\n\n")).toEqual([]);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(":", "\n", "\r", "data", " ", "x") })),
        (chunks) => {
          const parser = new EventStreamParser();
          for (const chunk of chunks) parser.push(chunk);
        },
      ),
    );
  });
});

describe("nestSchema", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://acme.example/tree",
    type: "object",
    properties: {
      value: { $ref: "#/$defs/number" },
      named: { $ref: "#Name" },
      children: { type: "array", items: { $ref: "#" } },
      $ref: { type: "string" },
    },
    required: ["value"],
    $defs: { number: { type: "integer" }, name: { $anchor: "Name", type: "string" } },
  };
  const outer = {
    type: "object",
    properties: {
      input: nestSchema(schema, "/properties/input"),
      other: { $ref: "#/properties/input" },
    },
  };

  it.each([
    [{ value: 1, children: [{ value: 2 }], $ref: "a", named: "b" }, true],
    [{ value: "1" }, false],
    [{ value: 1, children: [{ value: "2" }] }, false],
    [{ value: 1, named: 7 }, false],
    [{ value: 1, $ref: 7 }, false],
    [{}, false],
  ])("says of %j what the schema says by itself", (value, isValid) => {
    expect(prepareMeteredCheck(schema)(value) === undefined).toBe(isValid);
    expect(prepareMeteredCheck(outer)({ input: value }) === undefined).toBe(isValid);
    expect(prepareMeteredCheck(outer)({ other: value }) === undefined).toBe(isValid);
  });
});
