import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { type LoadedEndpoints, loadEndpoints } from "../../src/endpoint/load-endpoints.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { makeCertificate } from "../support/certificate.ts";
import { makeDirectory } from "../support/directory.ts";
import { BOOK_ROOM, FETCH_ARTICLE } from "../support/endpoint-toml.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

function load(directory: string, options: object = {}): LoadedEndpoints {
  return loadEndpoints({
    ...smallVocabulary(),
    directory,
    endpointsDir: "endpoints",
    env: { API_HOST: "api.acme.example", API_TOKEN: "t" },
    compiler: createSchemaCompiler(),
    ...options,
  });
}

const filesOf = ({ endpoints }: LoadedEndpoints): readonly string[] =>
  endpoints.map(({ definition }) => definition.file);
const linesOf = ({ problems }: LoadedEndpoints): readonly string[] => problems.map(formatProblem);
const at = (path: string): string => BOOK_ROOM.replace("/room/", `${path}/`);

describe("loadEndpoints", () => {
  it("loads every file below the directory, in the order of their names", () => {
    const directory = makeDirectory({
      "endpoints/b.toml": at("/b"),
      "endpoints/a/z.toml": at("/z"),
      "endpoints/a/deep/er/y.toml": at("/y"),
      "endpoints/notes.md": "no endpoint",
      "endpoints/a/handler.ts": "export {}",
      "endpoints/.hidden.toml": "broken",
      "endpoints/.git/config.toml": "broken",
    });
    const loaded = load(directory);
    expect(linesOf(loaded)).toEqual([]);
    expect(filesOf(loaded)).toEqual([
      "endpoints/a/deep/er/y.toml",
      "endpoints/a/z.toml",
      "endpoints/b.toml",
    ]);
  });

  it("serves one tool of a name, the first, and says where the other is", () => {
    const named = (path: string, tool: string): string =>
      at(path).replace("[endpoint]", `[endpoint]\ntool = "${tool}"`);
    const loaded = load(
      makeDirectory({
        "endpoints/a.toml": named("/a", "book"),
        "endpoints/b.toml": named("/b", "book"),
        "endpoints/c.toml": named("/c", "Book"),
        "endpoints/d.toml": at("/d"),
        "endpoints/e.toml": named("/e", "book it"),
      }),
    );
    expect(linesOf(loaded)).toEqual([
      'endpoints/e.toml: endpoint.tool: "book it" is no tool name, expected at most 64 letters, digits, "_" and "-"',
      'endpoints/b.toml: endpoint.tool: another tool is called "book" (the other one is in endpoints/a.toml)',
    ]);
    expect(filesOf(loaded)).toEqual(["endpoints/a.toml", "endpoints/c.toml", "endpoints/d.toml"]);
  });

  it("compiles both schemas and the shape of the input", () => {
    const [endpoint] = load(makeDirectory({ "endpoints/a.toml": FETCH_ARTICLE })).endpoints;
    expect(endpoint?.input.check({ article_id: 1 })).toBeUndefined();
    expect(endpoint?.input.check({ article_id: "1", more: 2 })).toHaveLength(2);
    expect(endpoint?.output.check({ title: "t", tags: [], more: 1 })).toBeUndefined();
    expect(endpoint?.output.check({ title: "t" })?.[0]?.path).toBe("/tags");
    expect(endpoint?.shape.scalars.get("article_id")).toEqual(["integer"]);
  });

  it("keeps scopes once that several endpoints ask for", () => {
    const scoped = (path: string, scopes: string): string =>
      at(path).replace(/^required_scopes = .*$/m, `required_scopes = ${scopes}`);
    const directory = makeDirectory({
      "endpoints/a.toml": scoped("/a", '["booking:room", "booking:pay"]'),
      "endpoints/b.toml": scoped("/b", '["booking:room", "booking:pay"]'),
      "endpoints/c.toml": scoped("/c", '["booking:room"]'),
    });
    const [a, b, c] = load(directory).endpoints.map(({ definition }) => definition.requiredScopes);
    expect(a).toEqual(["booking:room", "booking:pay"]);
    expect(b).toBe(a);
    expect(c).toEqual(["booking:room"]);
  });

  it("closes the output where that is the policy, whatever the schema says", () => {
    const directory = makeDirectory({ "endpoints/a.toml": FETCH_ARTICLE });
    const [endpoint] = load(directory, { outputValidation: "strict" }).endpoints;
    expect(endpoint?.output.check({ title: "t", tags: [] })).toBeUndefined();
    expect(endpoint?.output.check({ title: "t", tags: [], more: 1 })?.[0]?.path).toBe("/more");
    expect(endpoint?.definition.outputSchema["additionalProperties"]).toBe(true);
  });

  it("refuses an output that the policy closes before what it requires", () => {
    const file = BOOK_ROOM.replace('required = ["reservation_id"]', 'required = ["handle"]');
    const directory = makeDirectory({ "endpoints/a.toml": file });
    expect(linesOf(load(directory))).toEqual([]);
    const loaded = load(directory, { outputValidation: "strict" });
    expect(filesOf(loaded)).toEqual([]);
    expect(linesOf(loaded)).toEqual([
      expect.stringMatching(/output_schema\.required: "handle" .* so no output is valid/),
    ]);
  });

  it("serves the valid rest, and names file and key of what is not", () => {
    const directory = makeDirectory({
      "endpoints/bad.toml": at("/bad").replace('format = "uuid"', 'format = "uid"'),
      "endpoints/broken.toml": "[endpoint",
      "endpoints/good.toml": at("/good"),
    });
    const loaded = load(directory);
    expect(filesOf(loaded)).toEqual(["endpoints/good.toml"]);
    expect(linesOf(loaded)).toEqual([
      'endpoints/bad.toml: endpoint.input_schema.properties.guest_id.format: is "uid", expected a known format (did you mean uuid?)',
      expect.stringMatching(/^endpoints\/broken.toml: is not TOML: line 1/),
    ]);
  });

  it("names the keys of a field list where its schema is wrong", () => {
    const file = FETCH_ARTICLE.replace(
      'type = "integer"',
      'type = "integer"\nenum = []\nschema = { minimum = "low" }',
    )
      .replace('format = "date"', 'schema = { pattern = "(" }')
      .replace('items = { type = "string" }', 'items = { type = "text" }');
    expect(linesOf(load(makeDirectory({ "endpoints/a.toml": file })))).toEqual([
      "endpoints/a.toml: endpoint.input.required[0].enum: is an array, expected a list of one or more values",
      'endpoints/a.toml: endpoint.input.required[0].schema.minimum: is "low", expected a number',
      'endpoints/a.toml: endpoint.input.optional[0].schema.pattern: "(" is no regular expression',
      expect.stringMatching(
        /^endpoints\/a.toml: endpoint.output\[1\].schema.items.type: is "text", expected/,
      ),
    ]);
  });

  it("names a field of a list that no value fits", () => {
    const file = FETCH_ARTICLE.replace('format = "date"', "enum = [1]");
    expect(linesOf(load(makeDirectory({ "endpoints/a.toml": file })))).toEqual([
      expect.stringMatching(/^endpoints\/a.toml: endpoint.input.optional\[0\]: allows no value/),
    ]);
  });

  it("says of a path parameter with a type that is none what is wrong with the schema", () => {
    const file = BOOK_ROOM.replace('property_id]\ntype = "string"', 'property_id]\ntype = "text"');
    expect(linesOf(load(makeDirectory({ "endpoints/a.toml": file })))).toEqual([
      expect.stringMatching(
        /^endpoints\/a.toml: endpoint.input_schema.properties.property_id.type: is "text", expected/,
      ),
    ]);
  });

  it("refuses the later of two endpoints that match the same paths", () => {
    const directory = makeDirectory({
      "endpoints/a.toml": BOOK_ROOM,
      "endpoints/b.toml": BOOK_ROOM,
      "endpoints/c.toml": BOOK_ROOM.replaceAll("property_id", "room_id"),
      "endpoints/d.toml": BOOK_ROOM.replace('"BOOK"', '"AUDIT"'),
    });
    const loaded = load(directory);
    expect(filesOf(loaded)).toEqual(["endpoints/a.toml", "endpoints/d.toml"]);
    expect(linesOf(loaded)).toEqual([
      "endpoints/b.toml: endpoint.path: BOOK /room/{property_id} is registered already (the other one is in endpoints/a.toml)",
      "endpoints/c.toml: endpoint.path: BOOK /room/{room_id} and BOOK /room/{property_id} match the same paths equally well (the other one is in endpoints/a.toml)",
    ]);
  });

  it("follows links that stay inside, once, and none that lead out", () => {
    const outside = makeDirectory({ "x.toml": at("/x") });
    const directory = makeDirectory({
      "endpoints/a.toml": at("/a"),
      "shared/b.toml": at("/b"),
    });
    symlinkSync(join(directory, "shared"), join(directory, "endpoints/shared"));
    symlinkSync(join(directory, "endpoints"), join(directory, "endpoints/loop"));
    symlinkSync(outside, join(directory, "endpoints/away"));
    symlinkSync(join(outside, "x.toml"), join(directory, "endpoints/x.toml"));
    symlinkSync(join(directory, "nowhere.toml"), join(directory, "endpoints/dangling.toml"));
    const loaded = load(directory);
    expect(filesOf(loaded)).toEqual(["endpoints/a.toml", "endpoints/shared/b.toml"]);
    expect(linesOf(loaded)).toEqual([
      "endpoints/away: is a link that leads out of the deployment directory",
      "endpoints/dangling.toml: does not exist",
      "endpoints/x.toml: is a link that leads out of the deployment directory",
    ]);
  });

  it("does not follow the endpoints directory itself out of the deployment", () => {
    const outside = makeDirectory({ "x.toml": at("/x") });
    const directory = makeDirectory({});
    symlinkSync(outside, join(directory, "endpoints"));
    const loaded = load(directory);
    expect(loaded.endpoints).toEqual([]);
    expect(linesOf(loaded)).toHaveLength(1);
  });

  it("takes a directory outside that was configured", () => {
    const outside = makeDirectory({ "x.toml": at("/x") });
    const loaded = load(makeDirectory({}), { endpointsDir: outside });
    expect(loaded.problems).toEqual([]);
    expect(loaded.endpoints).toHaveLength(1);
  });

  it("does not look through the whole file system", () => {
    const { endpoints, problems } = load(makeDirectory({}), { endpointsDir: "/" });
    expect(endpoints).toEqual([]);
    const message = "must be a directory of its own, is the root";
    expect(problems.map((one) => one.message)).toEqual([message]);
  });

  it("warns of a missing directory, and refuses a missing one that was configured", () => {
    const directory = makeDirectory({});
    expect(load(directory).problems).toEqual([
      {
        file: "endpoints",
        key: "",
        message: "the directory does not exist, so there are no endpoints",
        severity: "warning",
      },
    ]);
    expect(load(directory, { endpointsDir: "endpionts" }).problems).toEqual([
      { file: "endpionts", key: "", message: "the directory does not exist" },
    ]);
  });

  it("survives whatever a file turns out to be", () => {
    const directory = makeDirectory({ "endpoints/huge.toml": `#${"x".repeat(1_100_000)}` });
    mkdirSync(join(directory, "endpoints/directory.toml"));
    execFileSync("mkfifo", [join(directory, "endpoints/fifo.toml")]);
    const loaded = load(directory);
    expect(loaded.endpoints).toEqual([]);
    expect(linesOf(loaded)).toEqual([
      "endpoints/fifo.toml: must be a regular file",
      "endpoints/huge.toml: must be at most 1048576 bytes long, has 1100001",
    ]);
  });
});

// AGTP-API §12.3
describe("the CA of an external service", () => {
  const withCa = FETCH_ARTICLE.replace("timeout_seconds", 'ca = "tls/ca.pem"\ntimeout_seconds');

  it("is read from a file of the deployment", async () => {
    const { cert } = await makeCertificate();
    const loaded = load(makeDirectory({ "endpoints/a.toml": withCa, "tls/ca.pem": cert }));
    expect(linesOf(loaded)).toEqual([]);
    expect(loaded.endpoints[0]?.definition.handler).toMatchObject({ ca: cert });
  });

  it.each([
    ["no PEM", "hello"],
    ["a damaged certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
    [
      "a key",
      String(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" })),
    ],
  ])("must not be %s", (_, pem) => {
    const loaded = load(makeDirectory({ "endpoints/a.toml": withCa, "tls/ca.pem": pem }));
    expect(linesOf(loaded)).toEqual([
      'endpoints/a.toml: endpoint.handler.ca: "tls/ca.pem" holds no PEM certificate, or one that is damaged',
    ]);
  });
});
