/** `agtp-openapi export`: endpoints as a document for HTTP clients, and back. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "@readme/openapi-parser";
import { describe, expect, it, onTestFinished } from "vitest";
import { methodNames } from "../../src/catalog/path-grammar.ts";
import type { EndpointDefinition } from "../../src/endpoint/endpoint.ts";
import { UPSTREAM_ERRORS } from "../../src/endpoint/endpoint.ts";
import { parseEndpointFile } from "../../src/endpoint/endpoint-file.ts";
import { type ExportSource, exportOpenapi } from "../../src/openapi/export-openapi.ts";
import { type ExportedEndpoint, liftVerb, methodReader } from "../../src/openapi/http-form.ts";
import { importDocument } from "../../src/openapi/import-document.ts";
import { loadShippedCatalog } from "../../src/openapi/import-files.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { reply, startPeer } from "../support/agtp-peer.ts";
import { serve } from "../support/daemon.ts";
import { configFile, ECHO_MODULE, endpointFile } from "../support/deployment.ts";
import { makeEndpoint } from "../support/endpoint-definition.ts";
import { CODE_HOST, PAYMENTS, PET_SHOP } from "../support/openapi-documents.ts";
import { makeOpenApiProgram } from "../support/openapi-program.ts";
import { ROOT } from "../support/source-tree.ts";

const { catalog } = loadShippedCatalog();
const aliases = new Map([...catalog.legacy].map(([verb, { preferred }]) => [verb, preferred]));
const FIXTURE = join(ROOT, "test/exchanges/deployment");
const NOTHING = { type: "composition", recipe: "x" } as const;

type Document = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
};

function exportAll(
  endpoints: readonly ExportedEndpoint[],
  rest: Partial<ExportSource> = {},
): Document {
  const source = {
    endpoints,
    serverId: "s.example",
    manifestUri: "agtp://s.example",
    catalog,
    aliases,
  };
  return exportOpenapi({ ...source, ...rest }) as Document;
}

async function faultsOf(document: object): Promise<unknown> {
  const copy = structuredClone(document) as Parameters<typeof validate>[0];
  const result = await validate(copy, { resolve: { external: false } });
  return result.valid ? result.warnings : result.errors;
}

const closed = (properties: object, required: readonly string[] = []): JsonSchema => ({
  ...{ type: "object", additionalProperties: false, properties, required },
});
const text = { type: "string" };

const ENDPOINTS: readonly EndpointDefinition[] = [
  makeEndpoint(NOTHING, {
    ...{ method: "FETCH", path: "/orders/{order_id}", namespace: "orders" },
    inputSchema: closed({ order_id: { type: "integer" }, verbose: { type: "boolean" } }, [
      "order_id",
    ]),
    outputSchema: {
      type: "object",
      required: ["id"],
      properties: { id: text, note: { type: ["string", "null"] } },
    },
    errors: ["order_unknown"],
    requiredScopes: ["orders:read"],
    deprecated: { deprecated_in: "1.2.0", successor: { method: "QUERY" } },
  }),
  makeEndpoint(NOTHING, {
    ...{ method: "REMOVE", path: "/orders/{id}" },
    inputSchema: closed({ id: { type: "integer" } }, ["id"]),
  }),
  makeEndpoint(NOTHING, {
    ...{ method: "CANCEL", path: "/orders/{id}" },
    inputSchema: closed({ id: { type: "integer" }, reason: { ...text, maxLength: 80 } }, [
      "id",
      "reason",
    ]),
  }),
  makeEndpoint(NOTHING, {
    ...{ method: "FETCH", path: "/reports" },
    // No query can carry a list.
    inputSchema: closed({ months: { type: "array", items: { type: "integer" } } }),
  }),
  makeEndpoint(NOTHING, {
    ...{ method: "CREATE", path: "/trees" },
    inputSchema: {
      ...closed({ root: { $ref: "#/$defs/node" }, other: { $ref: "#leaf" } }, ["root"]),
      dependentRequired: { other: ["root"] },
      $defs: {
        node: {
          type: "object",
          properties: { next: { $ref: "#/$defs/node" }, leaf: { $ref: "#leaf" } },
        },
        end: { $anchor: "leaf", type: "integer", minimum: 1 },
      },
    },
    outputSchema: {
      type: "object",
      properties: { self: { $ref: "#" }, depth: { type: "integer" } },
    },
  }),
  makeEndpoint(NOTHING, { method: "QUERY", path: "/", inputSchema: closed({}) }),
  makeEndpoint(NOTHING, { method: "DISCOVER", path: "/methods", inputSchema: closed({}) }),
];

/** A definition without what an import cannot know. */
function essence(definition: ExportedEndpoint): unknown {
  const { method, path, description, namespace, semantic, requiredScopes, deprecated } = definition;
  const errors = definition.errors.filter(
    (name) => !(UPSTREAM_ERRORS as readonly string[]).includes(name),
  );
  return { method, path, description, namespace, semantic, requiredScopes, deprecated, errors };
}

function sorted({ required = [], ...rest }: JsonSchema): unknown {
  return { ...rest, required: [...(required as readonly string[])].toSorted() };
}

/** Imports a document and reads its endpoints back. */
function importBack(document: Document): readonly EndpointDefinition[] {
  const result = importDocument(document, { catalog, baseUrl: "https://s.example" });
  if (result.kind === "fault") throw new Error(result.message);
  expect(result.imported.leftOut).toEqual([]);
  const context = { catalog, names: methodNames(catalog, []), customMethods: new Set<string>() };
  return result.imported.endpoints.map(({ text: file, reviews }) => {
    expect(reviews).toEqual([]);
    const { definition, problems } = parseEndpointFile(file, "x", {
      ...context,
      directory: "/",
      env: {},
    });
    if (definition === undefined) throw new Error(JSON.stringify(problems));
    return definition;
  });
}

function accepts(schema: JsonSchema, value: unknown): boolean {
  const { compiled } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
  return compiled?.check(value) === undefined;
}

describe("agtp-openapi export", () => {
  it.each([undefined, null, 7, { v: 1 }])(
    "says nothing of a version that a server says as %j",
    async (document_version) => {
      const manifest = { server: { server_id: "s.example" }, endpoints: [], document_version };
      const peer = await startPeer((socket) => socket.write(reply(JSON.stringify(manifest))));
      onTestFinished(() => peer.close());
      const { run } = makeOpenApiProgram();
      const uri = `agtp://localhost:${peer.port}`;
      const { exitCode, out } = await run("export", uri, "--insecure");
      expect(exitCode).toBe(0);
      const document = JSON.parse(out) as Document;
      expect(document).toMatchObject({ info: { version: "1.0.0" } });
      expect(document["x-agtp-derived-from"]).not.toHaveProperty("document_version");
    },
  );
});

describe("exportOpenapi", () => {
  const document = exportAll(ENDPOINTS, {
    ...{ operator: "Acme", documentVersion: "v-1", baseUrl: "http://127.0.0.1:8080" },
  });

  it("makes a valid document, whatever is in the endpoints", async () => {
    expect(await faultsOf(document)).toEqual([]);
  });

  it("says that it is derived, and from what", () => {
    expect(document).toMatchObject({
      openapi: "3.1.0",
      info: { title: "s.example", version: "v-1", "x-agtp-manifest": "agtp://s.example" },
      externalDocs: { url: "agtp://s.example" },
      servers: [{ url: "http://127.0.0.1:8080" }],
      "x-agtp-derived-from": { manifest: "agtp://s.example", document_version: "v-1" },
    });
    expect(JSON.stringify(document["info"])).toContain("Derived from the manifest at");
  });

  it("has what HTTP can ask the sidecar for, and leaves out what is the protocol's own", () => {
    const faces = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [
        `${method.toUpperCase()} ${path}`,
        `${operation["x-agtp-method"]} ${operation["x-agtp-path"]}`,
      ]),
    );
    expect(Object.fromEntries(faces)).toEqual({
      "GET /orders/{order_id}": "FETCH /orders/{order_id}",
      "DELETE /orders/{order_id}": "REMOVE /orders/{id}",
      "POST /orders/{id}/cancel": "CANCEL /orders/{id}",
      "POST /reports/fetch": "FETCH /reports",
      "POST /trees": "CREATE /trees",
    });
    for (const [face = "", pair] of faces) {
      const [verb = "", path = ""] = face.split(" ");
      const lifted = liftVerb(path, methodReader(catalog, verb));
      const method = lifted?.method ?? aliases.get(verb);
      const shape = (target: string): string => target.replace(/\{\w+\}/g, "{}");
      expect(shape(`${method} ${lifted?.path ?? path}`)).toBe(shape(pair ?? ""));
    }
  });

  it("says which operations take a bearer token, and which need one", async () => {
    const oauth = { issuer: "https://id.example", requiredOnMethods: ["CANCEL"] };
    const guarded = exportAll(ENDPOINTS, { oauth });
    expect(await faultsOf(guarded)).toEqual([]);
    expect(guarded).toMatchObject({
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
      paths: {
        "/orders/{order_id}": { get: { security: [{}, { bearer: [] }] } },
        "/orders/{id}/cancel": { post: { security: [{ bearer: [] }] } },
      },
    });
    expect(JSON.stringify(document)).not.toContain("bearer");
  });

  it("follows another alias map", () => {
    const other = exportAll(ENDPOINTS, { aliases: new Map([["PATCH", "CANCEL"]]) });
    expect(Object.keys(other.paths)).toContain("/orders/{order_id}/fetch");
    expect(other.paths["/orders/{id}"]).toHaveProperty("patch");
  });

  it("can be imported again, and nothing has to be judged a second time", () => {
    const back = importBack(document);
    const exported = ENDPOINTS.filter(({ path }) => path !== "/" && path !== "/methods");
    const byPair = (a: ExportedEndpoint, b: ExportedEndpoint): number =>
      `${a.method} ${a.path}` < `${b.method} ${b.path}` ? -1 : 1;
    expect(back.map(essence).length).toBe(exported.length);
    expect(back.toSorted(byPair).map(essence)).toEqual(exported.toSorted(byPair).map(essence));
    for (const { method, path, inputSchema } of exported.filter(
      ({ path: at }) => at !== "/trees",
    )) {
      const twin = back.find((one) => one.method === method && one.path === path);
      expect(sorted(twin?.inputSchema ?? {})).toEqual(sorted(inputSchema));
    }
  });

  it("keeps what schemas with definitions, names and references to themselves mean", () => {
    const tree = importBack(document).find(({ path }) => path === "/trees");
    const original = ENDPOINTS.find(({ path }) => path === "/trees");
    const inputs = [
      { root: { next: { next: { leaf: 1 } } }, other: 2 },
      ...[
        { root: { next: { next: { leaf: 0 } } } },
        { root: {}, other: 0 },
        { other: 2 },
        { root: 1 },
      ],
    ];
    for (const input of inputs) {
      expect(accepts(tree?.inputSchema ?? {}, input)).toBe(
        accepts(original?.inputSchema ?? {}, input),
      );
    }
    expect(accepts(tree?.outputSchema ?? {}, { self: { self: { depth: 1 } } })).toBe(true);
    expect(accepts(tree?.outputSchema ?? {}, { self: { self: { depth: "1" } } })).toBe(false);
  });
});

// AGTP-API §14.2: what comes back is the same endpoint, not a shorter one.
describe("an export of endpoints with long schemas", () => {
  const names = Array.from({ length: 30 }, (_, index) => `part_${index}`);
  const partOf = (index: number): JsonSchema => ({
    type: "object",
    properties: {
      next: { $ref: `#/$defs/part_${(index + 1) % names.length}` },
      other: { $ref: `#/$defs/part_${(index + 7) % names.length}` },
      ...Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [
          `member_${at}`,
          { type: "string", description: `The ${at}th one. ${"It is described.\n".repeat(2)}` },
        ]),
      ),
    },
  });
  const long: JsonSchema = {
    type: "object",
    properties: { first: { $ref: "#/$defs/part_0" }, plain: { $ref: "#/$defs/plain" } },
    $defs: {
      ...Object.fromEntries(names.map((name, index) => [name, partOf(index)])),
      plain: { allOf: [{ type: "object" }, { type: "object", properties: { a: text } }] },
    },
  };
  const endpoint = makeEndpoint(NOTHING, {
    ...{ method: "CREATE", path: "/wholes" },
    inputSchema: { ...long, additionalProperties: false },
    outputSchema: long,
  });

  it("is imported whole, with definitions as they were", () => {
    expect(JSON.stringify(long).length).toBeGreaterThan(32_768);
    const [back] = importBack(exportAll([endpoint]));
    expect(back?.outputSchema).toEqual(long);
    expect(sorted(back?.inputSchema ?? {})).toEqual(sorted(endpoint.inputSchema));
  });

  it("is not taken at its word where it holds more than an endpoint can", () => {
    const document = structuredClone(exportAll([endpoint]));
    const { schemas } = document["components"] as { schemas: Record<string, unknown> };
    schemas["part_0"] = { type: "string", enum: Array.from({ length: 70_000 }, String) };
    const result = importDocument(document, { catalog, baseUrl: "https://s.example" });
    const [made] = result.kind === "imported" ? result.imported.endpoints : [];
    expect(made?.reviews.map(({ message }) => message)).toContain(
      "the output is described in part, all of it would be too large",
    );
  });
});

describe("the program", () => {
  it.each([
    ["pets.json", PET_SHOP],
    ["code.json", CODE_HOST],
    ["pay.json", PAYMENTS],
  ])("exports what was imported from %s, and imports it again", async (name, spec) => {
    const program = makeOpenApiProgram({ [name]: JSON.stringify(spec) });
    await program.run("import", name, "--output", "a");
    // The variables of its credentials are not set.
    expect(await program.run("export", "a", "-o", "a.json")).toEqual({
      exitCode: 0,
      out: "",
      err: "",
    });
    expect(await faultsOf(JSON.parse(program.read("a.json")))).toEqual([]);
    const again = await program.run(
      "import",
      "a.json",
      "--output",
      "b",
      "--base-url",
      "https://g.example",
    );
    expect(again.exitCode).toBe(0);
    const [first, second] = [program.endpoints("a"), program.endpoints("b")];
    expect(Object.keys(second).toSorted()).toEqual(Object.keys(first).toSorted());
    for (const [pair, table] of Object.entries(first)) {
      const twin = second[pair] ?? {};
      expect(twin["semantic"], pair).toEqual(table["semantic"]);
      expect(twin["errors"].toSorted(), pair).toEqual(table["errors"].toSorted());
      expect(sorted(twin["input_schema"]), pair).toEqual(sorted(table["input_schema"]));
    }
  });

  it("exports a deployment from its directory and from its configuration", async () => {
    const program = makeOpenApiProgram();
    const byDirectory = await program.run("export", FIXTURE);
    const byFile = await program.run("export", "--config", join(FIXTURE, "agtp-server.toml"));
    expect(byDirectory.exitCode).toBe(0);
    expect(byFile.out).toBe(byDirectory.out);
    const document = JSON.parse(byDirectory.out);
    expect(await faultsOf(document)).toEqual([]);
    expect(Object.keys(document.paths).length).toBeGreaterThan(2);
  });

  it.each([
    [{ base_url: "https://api.acme.example/" }, [{ url: "https://api.acme.example" }]],
    [{}, undefined],
    [{ host: "127.0.0.1" }, [{ url: "http://127.0.0.1:8080" }]],
    [{ enabled: false, base_url: "https://api.acme.example/" }, undefined],
  ])("names the address of a sidecar as the sidecar does: %j", async (keys, servers) => {
    const gateway = { enabled: true, host: "0.0.0.0", allow_plain_http: true, ...keys };
    const program = makeOpenApiProgram({ "agtp-server.toml": configFile({ gateway }) });
    const { out } = await program.run("export");
    expect(JSON.parse(out).servers).toEqual(servers);
  });

  it("exports what a running server tells of", async () => {
    const files = {
      "agtp-server.toml": configFile({
        server: { operator: "Acme" },
        policies: { identity: { unknown_agents: "accept" } },
      }),
      "handlers.mjs": ECHO_MODULE,
      "endpoints/x.toml": endpointFile({
        method: "BOOK",
        path: "/rooms",
        properties: { id: text },
      }),
    };
    const program = makeOpenApiProgram(files);
    const { directory } = program;
    const served = await serve({
      directory,
      configPath: join(directory, "agtp-server.toml"),
    });
    const uri = `agtp://127.0.0.1:${served.daemon.port}`;
    for (const args of [[], ["--agent-id", "a".repeat(64)]]) {
      const { exitCode, out, err } = await program.run("export", uri, "--insecure", ...args);
      expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
      const document = JSON.parse(out);
      expect(await faultsOf(document)).toEqual([]);
      expect(document.info).toMatchObject({ title: "test", "x-agtp-manifest": uri });
      expect(Object.keys(document.paths)).toContain("/rooms/book");
      expect(Object.keys(document.paths)).not.toContain("/methods/discover");
    }
  });

  it("says what is in the way", async () => {
    const program = makeOpenApiProgram({ "agtp-server.toml": configFile(), "a.json": "{}" });
    mkdirSync(join(program.directory, "endpoints"));
    writeFileSync(join(program.directory, "endpoints/x.toml"), "[endpoint]");
    const broken = await program.run("export");
    expect(broken.exitCode).toBe(1);
    expect(broken.err).toContain("endpoints/x.toml: endpoint.method: is missing");
    const taken = await program.run("export", FIXTURE, "-o", "a.json");
    expect([taken.exitCode, program.read("a.json")]).toEqual([1, "{}"]);
    for (const args of [
      ["nowhere"],
      ["--config", "nowhere.toml"],
      [".", "--config", "agtp-server.toml"],
    ]) {
      expect(await program.run("export", ...args)).toMatchObject({ exitCode: 2, out: "" });
    }
    expect(await program.run("export", "agtp://127.0.0.1:1")).toMatchObject({
      exitCode: 2,
      out: "",
    });
    // The server's endpoints would be exported under a URI that is none of it.
    const { exitCode, err } = await program.run("export", "agtp://127.0.0.1:1/orders");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("expected the URI of a server")]);
  });
});
