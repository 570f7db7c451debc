/** An endpoint that loads is served: no call that its schemas allow is refused or fails. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { schemaSample } from "../../src/schema/schema-sample.ts";
import { agentFile, configFile, endpointFile } from "../support/deployment.ts";
import { openServer } from "../support/dispatch.ts";

const AGENT = "a".repeat(64);
const WHERE = { file: "", key: "" };
const ENDPOINTS = 60;

/** Names of members that mean something elsewhere; `parameters` alone reads as an envelope. */
const name = fc.constantFrom(
  ...["a", "id", "a/b", "é", "__proto__", "constructor", "toString", "method", "name", "action"],
  ...["task_id", "context", "~", "a b", "\u2028", "\u007fx", "0", "$ref", "type", "error", "body"],
);
const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant({ a: 1 }));

const { schema } = fc.letrec<{ schema: unknown; object: JsonSchema }>((tie) => {
  const map = fc.dictionary(name, tie("schema"), { maxKeys: 3 });
  const list = fc.array(tie("schema"), { minLength: 1, maxLength: 2 });
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.constantFrom("string", "object", "array", "integer", "boolean", ["object", "null"]),
    $ref: fc.constantFrom("#/$defs/a%20b", "#/$defs/x~1y", "#/properties/id", "#/$defs/a"),
    properties: map,
    patternProperties: fc.dictionary(fc.constantFrom("^a", "\\p{L}"), tie("schema"), {
      maxKeys: 1,
    }),
    additionalProperties: tie("schema"),
    unevaluatedProperties: fc.boolean(),
    required: fc.uniqueArray(name, { maxLength: 2 }),
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 1 }),
    items: tie("schema"),
    prefixItems: list,
    contains: tie("schema"),
    allOf: list,
    anyOf: list,
    oneOf: list,
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    default: value,
    format: fc.constantFrom("date", "date-time", "uuid", "email", "url", "int64", "byte"),
    pattern: fc.constantFrom("^a", "[^\\d]", "\\d+\\.\\d{2}", "(?<x>a)\\k<x>", "(?=a)a"),
    minimum: fc.integer(),
    multipleOf: fc.constantFrom(0.1, 2, 1e-10),
    minLength: fc.nat(3),
    uniqueItems: fc.boolean(),
    description: fc.string(),
    "x-own": value,
  };
  const member = fc
    .constantFrom(...Object.keys(keywords))
    .chain((key) => fc.tuple(fc.constant(key), keywords[key] ?? value));
  return {
    schema: fc.oneof({ maxDepth: 3, depthIdentifier: "schema" }, fc.boolean(), tie("object")),
    object: fc
      .array(member, { maxLength: 3 })
      .map((members): JsonSchema => Object.fromEntries(members)),
  };
});
const $defs = schema.map((a) => ({ a, "a b": { type: "string" }, "x/y": { type: "integer" } }));
const inputs = fc
  .tuple(fc.dictionary(name, schema, { minKeys: 1, maxKeys: 4 }), fc.boolean(), $defs)
  .map(([properties, isRequired, defs]): JsonSchema => {
    const required = isRequired ? Object.keys(properties) : [];
    return { type: "object", additionalProperties: false, properties, required, $defs: defs };
  });
const outputs = fc
  .tuple(schema, $defs)
  .map(([body, defs]): JsonSchema => ({ ...(typeof body === "object" ? body : {}), $defs: defs }));

/** Values that a schema allows, as far as any come to mind; none where it is no schema. */
function allowed(of: JsonSchema, others: readonly unknown[]): readonly unknown[] {
  const { compiled } = createSchemaCompiler().compile(of, WHERE);
  const values = [schemaSample(of), schemaSample(of, { extent: "all" }), ...others];
  return values.filter(
    (one) => one !== undefined && compiled?.check(one) === undefined && compiled,
  );
}

it("every endpoint that loads answers each call that its schemas allow", async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(inputs, outputs), { minLength: ENDPOINTS, maxLength: ENDPOINTS }),
      async (pairs) => {
        const bodies = pairs.map(([, output]) => allowed(output, [{}, "x", 1, true, [], null])[0]);
        const files = pairs.map(([input_schema, output_schema], index) => {
          const handler = { type: "registered_function", function: "handlers.give" };
          const schemas = { input_schema, output_schema, handler };
          return [
            `endpoints/${index}.toml`,
            endpointFile({ method: "BOOK", path: `/things/${index}`, ...schemas }),
          ];
        });
        const given = JSON.stringify(JSON.stringify(bodies.map((one) => one ?? null)));
        const server = await openServer(
          {
            "agtp-server.toml": configFile({ policies: { scope_required_for_invocation: false } }),
            "agents/a.agent.json": agentFile({ agent_id: AGENT, name: "a" }),
            "handlers.mjs": `const bodies = JSON.parse(${given});
export const give = ({ path }) => ({ body: bodies[Number(path.split("/")[2])] });\n`,
            ...Object.fromEntries(files),
          },
          { isClean: false },
        );
        const refused = new Set(
          server.problems.filter((one) => one.severity !== "warning").map(({ file }) => file),
        );
        for (const [index, [input]] of pairs.entries()) {
          if (refused.has(`endpoints/${index}.toml`) || bodies[index] === undefined) continue;
          for (const body of allowed(input, [{}])) {
            const path = `/things/${index}`;
            const headers = { "Agent-ID": AGENT };
            const reply = await server.send({ method: "BOOK", path, headers, body });
            expect([reply.status, reply.text]).toEqual([200, JSON.stringify(bodies[index])]);
            answered += 1;
          }
        }
        const listed = await server.send({ method: "DISCOVER", path: "/" });
        expect(listed.status).toBe(200);
        expect(server.faults).toEqual([]);
      },
    ),
    { numRuns: 2, endOnFailure: true },
  );
  expect(answered).toBeGreaterThan(ENDPOINTS / 2);
});
