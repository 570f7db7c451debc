import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonRecord } from "../../../src/base/json-value.ts";
import { loadCatalog, shippedCatalogPath } from "../../../src/catalog/catalog-file.ts";
import { prepareSubject, type TestSubject } from "../../../src/programs/conformance/subject.ts";

const { catalog } = loadCatalog(shippedCatalogPath(), "methods.json");

/** What is made of a server with this manifest. */
function subjectOf(manifest: JsonRecord, identity = {}): TestSubject {
  if (catalog === undefined) throw new Error("the shipped catalog is broken");
  const missing = { kind: "missing", reason: "was refused with 404", isRefused: false } as const;
  const survey = {
    manifest: { kind: "found", value: manifest } as const,
    inventory: missing,
    patterns: missing,
  };
  return prepareSubject(survey, { identity: { headers: [], ...identity }, catalog });
}

function endpoint(members: JsonRecord): JsonRecord {
  return {
    method: "QUERY",
    path: "/rooms",
    semantic: { impact: "informational" },
    input_schema: { type: "object", properties: {}, additionalProperties: false },
    ...members,
  };
}

describe("the endpoints that are tried", () => {
  it("only read, by their own word", () => {
    for (const impact of ["reversible", "irreversible", "INFORMATIONAL", undefined, 1]) {
      const { values } = subjectOf({ endpoints: [endpoint({ semantic: { impact } })] });
      expect(values["reading_endpoint"]).toBeUndefined();
    }
    const { values } = subjectOf({ endpoints: [endpoint({})] });
    expect(values["reading_endpoint"]).toMatchObject({ method: "QUERY", target: "/rooms" });
  });

  it("may be called with the scopes that the agent holds", () => {
    const asking = subjectOf({ endpoints: [endpoint({ approval: "operator" })] });
    expect(asking.values["reading_endpoint"]).toBeUndefined();
    const endpoints = [endpoint({ required_scopes: ["rooms:read"] })];
    expect(subjectOf({ endpoints }).values["reading_endpoint"]).toBeUndefined();
    const held = { agentId: "a".repeat(64), scopes: ["rooms:*"] };
    expect(subjectOf({ endpoints }, held).values["reading_endpoint"]).toBeDefined();
  });

  it("are not those that the policy turns away", () => {
    const policies = { methods: { disallow: ["QUERY"] } };
    const { values } = subjectOf({ policies, endpoints: [endpoint({})] });
    expect(values["reading_endpoint"]).toBeUndefined();
  });

  it("get their path's parameters percent-encoded, and the rest in the body", () => {
    const input_schema = {
      type: "object",
      required: ["city", "room"],
      properties: { room: { enum: ["a/b"] }, city: { const: "Oslo" } },
      additionalProperties: false,
    };
    const { values } = subjectOf({
      endpoints: [endpoint({ path: "/rooms/{room}", input_schema })],
    });
    expect(values["reading_endpoint"]).toMatchObject({
      target: "/rooms/a%2Fb",
      input: { city: "Oslo" },
      surplus_input: { city: "Oslo", conformance_undeclared_member: 1 },
    });
    expect(values["required_input"]).toMatchObject({ incomplete_input: {} });
  });

  it("are tried even with half a character", () => {
    const properties = { "\ud800": { enum: ["\udc00"] }, id: { const: "\ud800" } };
    const input_schema = { type: "object", properties };
    const { values } = subjectOf({ endpoints: [endpoint({ path: "/rooms/{id}", input_schema })] });
    expect(values["query_input"]).toMatchObject({ target: "/rooms/%EF%BF%BD" });
  });

  it("show that a query is decoded by a value that is wrong as it stands", () => {
    const properties = { limit: { type: "integer", minimum: 3 } };
    const input_schema = { type: "object", properties, additionalProperties: false };
    const { values } = subjectOf({ endpoints: [endpoint({ input_schema })] });
    expect(values["query_input"]).toMatchObject({ encoded_target: "/rooms?limit=%33" });
  });

  it("are none where no valid input can be made up", () => {
    const properties = { code: { type: "string", not: { minLength: 1 }, minLength: 1 } };
    const input_schema = { type: "object", required: ["code"], properties };
    const { values, lacking } = subjectOf({ endpoints: [endpoint({ input_schema })] });
    expect(values["reading_endpoint"]).toBeUndefined();
    expect(lacking.get("reading-endpoint")).toMatchObject({ isFault: false });
  });
});

describe("prepareSubject", () => {
  it("takes any JSON for a manifest", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const manifest = fc.record({
      endpoints: fc.oneof(
        json,
        fc.array(
          fc.record({
            method: fc.oneof(json, fc.constant("QUERY")),
            path: fc.oneof(json, fc.constantFrom("/a", "/a/{b}", "/{__proto__}")),
            semantic: fc.oneof(json, fc.constant({ impact: "informational" })),
            input_schema: fc.oneof(
              json,
              fc.record({ type: fc.constant("object"), required: json, properties: json }),
            ),
            deprecated: json,
            required_scopes: json,
          }),
        ),
      ),
      policies: fc.oneof(
        json,
        fc.record({
          methods: fc.record({ allow: json, disallow: json, aliases: json, redirects: json }),
        }),
      ),
      custom_methods: json,
      hosted_agents: json,
    });
    fc.assert(
      fc.property(manifest, (document) => {
        const agent = { agentId: "a".repeat(64), scopes: ["a:b"] };
        expect(subjectOf(document as JsonRecord, agent).lacking).toBeDefined();
      }),
    );
  });
});
