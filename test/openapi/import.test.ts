/** `agtp-openapi import`: documents as deployments. */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../src/app/config/load.ts";
import { checkDeployment } from "../../src/app/daemon.ts";
import { variablesIn } from "../../src/base/environment.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem, isError } from "../../src/base/problem.ts";
import { parseToml } from "../../src/base/toml-document.ts";
import { validateDocument } from "../../src/openapi/validate-document.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { CODE_HOST, manyOperations, PAYMENTS, PET_SHOP } from "../support/openapi-documents.ts";
import { makeOpenApiProgram, type OpenApiProgram } from "../support/openapi-program.ts";

const DOCUMENTS = {
  "pets.json": JSON.stringify(PET_SHOP),
  "code.yaml": stringify(CODE_HOST),
  "pay.json": JSON.stringify(PAYMENTS),
};

/** What `agtpd --check` says, with the variables of .env.example. */
async function check(program: OpenApiProgram, deployment: string): Promise<readonly string[]> {
  const lines = program.read(`${deployment}/.env.example`).matchAll(/^(\w+)=(.*)$/gm);
  const problems = await checkDeployment({
    configPath: join(program.directory, deployment, "agtp-server.toml"),
    env: Object.fromEntries(Array.from(lines, ([, name = "", value]) => [name, value])),
    log: createLog("silent", { write: () => undefined, flush: () => Promise.resolve() }),
  });
  return problems.map(formatProblem);
}

function writeSpec(program: OpenApiProgram, name: string, spec: object): void {
  writeFileSync(join(program.directory, name), JSON.stringify(spec));
}

const OK = { responses: { "200": { description: "x" } } };
const spec = (rest: object): object => ({
  ...{ openapi: "3.1.0", info: { title: "x", version: "1" } },
  ...{ servers: [{ url: "https://x.example" }], paths: { "/things": { get: OK } } },
  ...rest,
});

describe("an imported document", () => {
  it.each(Object.keys(DOCUMENTS))(
    "%s passes the daemon's check, without a warning",
    async (name) => {
      const program = makeOpenApiProgram(DOCUMENTS);
      const { exitCode, out } = await program.run("import", name, "--output", "out");
      expect({ exitCode, out }).toEqual({ exitCode: 0, out: "" });
      const signing = "agtp-server.toml: signing";
      const problems = await check(program, "out");
      expect(problems.filter((problem) => !problem.startsWith(signing))).toEqual([]);
    },
  );

  it("is the same every time", async () => {
    const program = makeOpenApiProgram(DOCUMENTS);
    await program.run("import", "code.yaml", "--output", "a");
    await program.run("import", "code.yaml", "--output", "b");
    expect(program.endpoints("a")).toEqual(program.endpoints("b"));
    expect(program.read("a/REVIEW.md")).toBe(program.read("b/REVIEW.md"));
  });

  it("has two hundred endpoints, and says how far it is", async () => {
    const program = makeOpenApiProgram({ "many.yaml": stringify(manyOperations()) });
    const { exitCode, err } = await program.run("import", "many.yaml", "--output", "out");
    expect(exitCode).toBe(0);
    expect(Object.keys(program.endpoints("out"))).toHaveLength(200);
    expect(err).toContain("50 of 200 operations\n");
    expect(err).toContain("200 of 200 operations\n");
    expect(program.endpoints("out")["CANCEL /v2/invoice-records/{id}"]).toBeDefined();
  });
});

describe("the endpoint of an operation", () => {
  async function endpointsOf(name: keyof typeof DOCUMENTS) {
    const program = makeOpenApiProgram(DOCUMENTS);
    await program.run("import", name, "--output", "out");
    return { program, endpoints: program.endpoints("out") };
  }

  it("has the path, the query, a header and their names", async () => {
    const { endpoints } = await endpointsOf("pets.json");
    expect(endpoints["FIND /pet/findByStatus"]).toMatchObject({
      namespace: "pet",
      input_schema: {
        additionalProperties: false,
        properties: {
          status: { type: "string", enum: ["sold", "free"] },
          filter_max_price: { type: "number" },
          x_trace_id: { type: "string" },
        },
      },
      output_schema: { type: "array" },
      handler: {
        type: "external_service",
        url: "https://pets.example/api/v3/pet/findByStatus",
        method: "GET",
        query: { status: "status", ids: "ids", filter_max_price: "filter[max-price]" },
        styles: { ids: "comma" },
        header_fields: { x_trace_id: "X-Trace-Id" },
      },
    });
  });

  it("has its errors, by the names that the document suggests", async () => {
    const { endpoints } = await endpointsOf("pets.json");
    const { errors, handler } = endpoints["FETCH /pet/{pet_id}"] ?? {};
    expect(errors).toEqual(
      expect.arrayContaining(["pet_not_found", "internal_error", "upstream_timeout"]),
    );
    expect(handler).toMatchObject({
      error_map: { "404": "pet_not_found", "500": "internal_error" },
      headers: { api_key: expect.stringMatching(/^\$\{IMPORT_PET_SHOP_API_KEY\}$/) },
    });
  });

  it("keeps apart what has one name in two places", async () => {
    const { endpoints } = await endpointsOf("code.yaml");
    const { input_schema: input, handler } = endpoints["CREATE /repos/{owner}/{repo}/issues"] ?? {};
    expect(input.required).toEqual(["owner", "repo", "title"]);
    expect(Object.keys(input.properties)).toContain("body_owner");
    expect(handler.input_transform).toEqual({ body_owner: "owner" });
    expect(handler.url).toBe("https://eu.code.example/v2/repos/{owner}/{repo}/issues");
  });

  it("sends forms, files, lists and texts as the document says", async () => {
    const { endpoints } = await endpointsOf("pay.json");
    expect(endpoints["CREATE /v1/customers"]?.["handler"]).toMatchObject({
      ...{ body_format: "form", styles: { metadata: "deep" } },
      headers: { Authorization: expect.stringMatching(/^Basic \$\{IMPORT_PAYMENTS_BASIC_AUTH\}$/) },
    });
    expect(endpoints["CREATE /v1/files"]?.["handler"]).toMatchObject({ body_format: "multipart" });
    expect(endpoints["FETCH /v1/customers"]?.["handler"]).toMatchObject({
      styles: { created: "deep", expand: "deep" },
    });
    const code = await endpointsOf("code.yaml");
    expect(code.endpoints["CREATE /markdown/raw"]?.["handler"]).toMatchObject({
      ...{ body_format: "text", body_field: "content", response_format: "text" },
    });
    const pets = await endpointsOf("pets.json");
    const list = pets.endpoints["CREATE /user/createWithList"];
    expect(list?.["handler"]).toMatchObject({ body_field: "body" });
    expect(list?.["input_schema"].properties.body.items.required).toEqual(["name", "password"]);
  });

  it("is deprecated since the document's version", async () => {
    const { endpoints } = await endpointsOf("pets.json");
    expect(endpoints["REMOVE /pet/{pet_id}"]?.["deprecated"]).toEqual({ deprecated_in: "1.4.2" });
  });

  it("is marked where the operationId alone names its method, which --strict lets pass", async () => {
    const search = { ...OK, operationId: "searchThings", summary: "Search things." };
    const paths = { "/things": { get: search }, "/plain": { get: { ...OK, summary: "Plain." } } };
    const program = makeOpenApiProgram({ "spec.json": JSON.stringify(spec({ paths })) });
    const { exitCode } = await program.run(
      ...["import", "spec.json", "--output", "out", "--strict"],
    );
    expect(exitCode).toBe(0);
    const mark = 'the operationId "searchThings" names it';
    expect(program.read("out/endpoints/things/search-things.toml")).toContain(
      `method = "SEARCH"  # REVIEW: ${mark}\n`,
    );
    expect(program.read("out/REVIEW.md")).toContain(`- [ ] \`method\`: ${mark}\n`);
    expect(program.read("out/endpoints/plain/fetch-plain.toml")).toContain('method = "FETCH"\n');
  });

  it("is marked where somebody has to judge, its impact always", async () => {
    const { program, endpoints } = await endpointsOf("pay.json");
    const files = program.read("out/REVIEW.md").matchAll(/^### (\S+)$/gm);
    const names = Array.from(files, ([, name = ""]) => name);
    expect(names).toHaveLength(Object.keys(endpoints).length);
    for (const name of names) {
      expect(program.read(`out/${name}`)).toMatch(/^impact = "\w+" {2}# REVIEW: \S/m);
    }
    expect(endpoints["CAPTURE /v1/charges/{charge}"]?.["semantic"]).toMatchObject({
      ...{ impact: "irreversible", is_idempotent: false, capability: "retrieval", actor: "agent" },
    });
    expect(endpoints["FETCH /v1/customers"]?.["semantic"]).toMatchObject({
      ...{ intent: "List all customers.", impact: "informational", is_idempotent: true },
    });
  });
});

describe("the files beside the endpoints", () => {
  it("list the API, and lead HTTP clients to what their requests have become", async () => {
    const program = makeOpenApiProgram(DOCUMENTS);
    await program.run("import", "pets.json", "--output", "out");
    const { table = {} } = parseToml(program.read("out/agtp-server.toml"));
    expect(table).toMatchObject({
      server: { server_id: "agents.pets.example" },
      apis: [{ name: "Pet Shop", base_url: "https://pets.example/api/v3" }],
    });
    const { policies } = table as { policies: { methods: { redirects: object[] } } };
    expect(policies.methods.redirects[0]).toEqual({
      ...{ from_method: "REPLACE", from_path: "/pet", to_method: "UPDATE", to_path: "/pet" },
    });
  });

  it("redirect nothing that is another endpoint's", async () => {
    const paths = {
      "/pets/{id}": { get: { operationId: "describePet", ...OK } },
      "/pets/mine": { get: { operationId: "getMine", ...OK } },
    };
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ paths })) });
    await program.run("import", "x.json", "--output", "out");
    expect(Object.keys(program.endpoints("out"))).toEqual([
      "DESCRIBE /pets/{id}",
      "FETCH /pets/mine",
    ]);
    expect(program.read("out/agtp-server.toml")).not.toContain("redirects");
  });

  it("hold no secret, and name every variable once", async () => {
    const program = makeOpenApiProgram(DOCUMENTS);
    await program.run("import", "pets.json", "--output", "out");
    expect(program.read("out/.env.example").match(/^\w+=.*$/gm)).toEqual([
      ...["IMPORT_PET_SHOP_SHOP_AUTH=change-me", "IMPORT_PET_SHOP_API_KEY=change-me"],
    ]);
  });

  it("hold no variable but those that the import invents, wherever a document asks for one", async () => {
    const mine = `\${DB_PASSWORD}`;
    const parameter = (name: string, where: string): object => ({
      ...{ name, in: where, required: where === "path", schema: { type: "string" } },
    });
    const operation = {
      ...{ operationId: `list${mine}`, summary: mine, description: mine, tags: [mine] },
      parameters: [parameter("DB_PASSWORD", "path"), parameter(mine, "query")],
      requestBody: {
        content: { [`application/json; a="${mine}"`]: { schema: { type: "object" } } },
      },
      responses: { "200": { description: mine, content: { [mine]: { schema: {} } } } },
    };
    const document = spec({
      info: { title: `Orders ${mine}`, version: mine, description: `All of ${mine}.` },
      externalDocs: { url: `https://docs.example/${mine}` },
      components: {
        securitySchemes: {
          [mine]: { type: "apiKey", in: "query", name: mine },
          password: { type: "apiKey", in: "cookie", name: "c$" },
        },
      },
      security: [{ [mine]: [], password: [] }],
      paths: { [`/a/${mine}/b`]: { post: operation, get: { ...operation, requestBody: {} } } },
    });
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(document) });
    const { exitCode, err } = await program.run("import", "x.json", "--output", "out");
    expect(exitCode, err).toBe(0);
    const set = Object.fromEntries(
      program
        .read("out/.env.example")
        .split("\n")
        .flatMap((line) => (/^\w+=/.test(line) ? [line.split("=", 2)] : [])),
    );
    expect(Object.keys(set).every((name) => name.startsWith("IMPORT_ORDERS_DB_PASSWORD_"))).toBe(
      true,
    );
    // Not one of them is there to be had: every use of the operator's own would be a problem.
    const endpoints = Object.values(program.endpoints("out"));
    expect(endpoints).toHaveLength(2);
    const configPath = join(program.directory, "out/agtp-server.toml");
    const { config, problems } = loadConfig(configPath, { DB_PASSWORD: "hunter2" });
    expect(problems.filter(isError)).toEqual([]);
    expect(config?.apis).toMatchObject([
      {
        ...{ name: `Orders ${mine}`, description: `All of ${mine}.` },
        http_documentation: `https://docs.example/${mine}`,
      },
    ]);
    const used = Object.keys(set);
    expect((await check(program, "out")).filter((problem) => /endpoint/.test(problem))).toEqual([]);
    for (const { handler } of endpoints as { handler: { url: string; headers?: object } }[]) {
      const texts = [handler.url, ...Object.values(handler.headers ?? {})];
      for (const name of texts.flatMap(variablesIn)) expect(used).toContain(name);
    }
  });

  it("name every variable with where its value goes, for somebody to judge", async () => {
    const info = { title: "DB", version: "1" };
    const schemes = { password: { type: "http", scheme: "bearer" } };
    const document = spec({
      ...{ info, components: { securitySchemes: schemes }, security: [{ password: [] }] },
    });
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(document) });
    const { err } = await program.run("import", "x.json", "--output", "out");
    const said = "sent to https://x.example";
    expect(program.read("out/REVIEW.md")).toContain(
      `- [ ] \`IMPORT_DB_PASSWORD\`: a token; ${said}`,
    );
    expect(program.read("out/.env.example")).toContain(`# a token; ${said}\nIMPORT_DB_PASSWORD=`);
    expect(err).toContain(`set IMPORT_DB_PASSWORD, ${said}`);
  });

  it("ask for a key as it stands in a URL where it is sent in one, and as it is everywhere else", async () => {
    const securitySchemes = {
      linked: { type: "apiKey", in: "query", name: "k" },
      headed: { type: "apiKey", in: "header", name: "X-Key" },
    };
    const security = [{ linked: [], headed: [] }];
    const document = spec({ components: { securitySchemes }, security });
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(document) });
    await program.run("import", "x.json", "--output", "out");
    const example = program.read("out/.env.example");
    expect(example).toContain("# the key that is sent as k, percent-encoded; ");
    expect(example).toContain("# the key that is sent as X-Key; ");
  });

  it("show what a document holds as text, whatever it is", async () => {
    const evil = 'x"\n[server]\nserver_id = "evil"\n# `|<script>\u0007\u202e';
    const operation = { ...OK, operationId: evil, summary: evil, description: evil, tags: [evil] };
    const info = { title: evil, version: evil, description: evil };
    const paths = { [`/a${evil}/{b${evil}}`]: { post: operation } };
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ info, paths })) });
    const { exitCode } = await program.run("import", "x.json", "--output", "out");
    expect(exitCode).toBe(0);
    expect(parseToml(program.read("out/agtp-server.toml")).table?.["server"]).toEqual({
      server_id: "agents.x.example",
    });
    expect(program.read("out/REVIEW.md")).not.toMatch(/[^\\]<script>/);
    for (const file of ["REVIEW.md", "agtp-server.toml", "endpoints/x/x.toml"]) {
      if (program.has(`out/${file}`))
        expect(program.read(`out/${file}`)).not.toMatch(/[\u0007\u202e]/);
    }
    expect((await check(program, "out")).filter((problem) => /endpoint/.test(problem))).toEqual([]);
  });
});

describe("the program", () => {
  it("writes all files or none, and names no more of them than anybody reads", async () => {
    const many = { "many.yaml": stringify(manyOperations()) };
    const program = makeOpenApiProgram({ ...many, "out/endpoints/policy": "no directory" });
    const refused = await program.run("import", "many.yaml", "--output", "out");
    expect(refused.exitCode).toBe(2);
    expect(refused.err).toMatch(/"out\/endpoints\/policy\/[^"]+" cannot be written: /);
    const left = readdirSync(join(program.directory, "out"), { recursive: true });
    expect(left.map(String).filter((name) => /\.\w+$/.test(name))).toEqual([]);
    rmSync(join(program.directory, "out/endpoints/policy"));
    expect((await program.run("import", "many.yaml", "--output", "out")).exitCode).toBe(0);
    const again = await program.run("import", "many.yaml", "--output", "out");
    expect(again).toMatchObject({
      exitCode: 1,
      err: expect.stringMatching(
        /^.{1,600} and \d+ more are there already, --force replaces them/m,
      ),
    });
  });

  it("says in how many places a document is wrong", async () => {
    const paths = { ...(PET_SHOP["paths"] as object), "no slash": {} };
    const wrong = JSON.stringify({ ...PET_SHOP, paths });
    const program = makeOpenApiProgram({ ...DOCUMENTS, "wrong.json": wrong });
    for (const [file, places] of [
      ["pets.json", "1 place"],
      ["wrong.json", "2 places"],
    ] as const) {
      const { err } = await program.run("import", file, "--output", file.slice(0, -5));
      expect(err).toContain(`the document breaks its specification in ${places}\n`);
    }
  });

  it("leaves out what needs a reference to nothing, and serves the rest", async () => {
    const program = makeOpenApiProgram({});
    const content = ($ref: string) => ({ content: { "application/json": { schema: { $ref } } } });
    const whole = { description: "x", ...content("#/components/schemas/Pet") };
    const broken = { description: "x", ...content("#/components/schemas/Nobody") };
    const paths = {
      "/parameters": { parameters: [{ $ref: "#/components/parameters/none" }], get: OK },
      "/inputs": { post: { ...OK, requestBody: broken } },
      "/outputs": { get: { responses: { "200": broken } } },
      "/errors": { get: { responses: { "200": whole, "404": broken, default: broken } } },
    };
    const schemas = { Pet: { type: "object" } };
    writeSpec(program, "spec.json", spec({ paths, components: { schemas } }));
    const { exitCode, out } = await program.run("import", "spec.json", "--output", "out", "--json");
    const report = JSON.parse(out);
    expect(exitCode).toBe(0);
    expect(report.left_out.map(({ operation }: { operation: string }) => operation)).toEqual([
      ...["GET /parameters", "POST /inputs", "GET /outputs"],
    ]);
    for (const { reason } of report.left_out) expect(reason).toMatch(/^the reference "#.*" leads/);
    for (const place of ["/paths/~1parameters/parameters/0/$ref: ", "/paths/~1errors/get/"]) {
      expect(report.notes).toContainEqual(expect.stringContaining(place));
    }
    expect(report.endpoints).toHaveLength(1);
    const strict = await program.run("import", "spec.json", "--output", "new", "--strict");
    expect(strict.exitCode).toBe(1);
    expect(await check(program, "out")).toEqual([]);
  });

  it("replaces nothing without --force, and says what was there before", async () => {
    const program = makeOpenApiProgram({ ...DOCUMENTS, "out/agtp-server.toml": "mine" });
    const refused = await program.run("import", "pets.json", "--output", "out");
    expect(refused.exitCode).toBe(1);
    expect(refused.err).toContain("is there already, --force replaces it");
    expect(program.read("out/agtp-server.toml")).toBe("mine");
    expect(program.has("out/REVIEW.md")).toBe(false);
    expect((await program.run("import", "pets.json", "--output", "out", "--force")).exitCode).toBe(
      0,
    );
    const again = await program.run("import", "pay.json", "--output", "out", "--force");
    expect(again.err).toContain("there before, and still served: endpoints/pet/add-pet.toml");
  });

  it("fails under --strict where there is more to review than impact and outcome", async () => {
    const program = makeOpenApiProgram(DOCUMENTS);
    const strict = (name: string, output: string) =>
      program.run("import", name, "--output", output, "--strict");
    expect((await strict("pets.json", "a")).exitCode).toBe(1);
    expect(program.has("a/REVIEW.md")).toBe(true);
    // The draft says what the operation is for; what it leaves behind is never said.
    const told = { ...OK, operationId: "listThings", summary: "List things." };
    writeSpec(program, "told.json", spec({ paths: { "/things": { get: told } } }));
    const { exitCode, err } = await strict("told.json", "c");
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: expect.stringContaining("1 to review") });
    expect(program.read("c/REVIEW.md")).toContain("`semantic.impact`");
    const lossy = {
      traced: { paths: { "/things": { get: told, trace: OK } } },
      plain: { paths: { "/things": { get: told } }, servers: [{ url: "http://x.example" }] },
    };
    for (const [name, rest] of Object.entries(lossy)) {
      writeSpec(program, `${name}.json`, spec(rest));
      expect((await strict(`${name}.json`, name)).exitCode).toBe(1);
    }
    writeSpec(program, "mute.json", spec({ paths: { "/things": { get: OK } } }));
    expect((await strict("mute.json", "d")).exitCode).toBe(1);
    const semantic = {
      ...{ intent: "List things.", actor: "agent", outcome: "The things are returned." },
      ...{ capability: "discovery", confidence: 1, impact: "informational", is_idempotent: true },
    };
    const paths = { "/things": { get: { ...OK, "x-agtp-semantic": semantic } } };
    writeSpec(program, "judged.json", spec({ paths }));
    const judged = await strict("judged.json", "b");
    expect({ ...judged, err: "" }).toEqual({ exitCode: 0, out: "", err: "" });
    expect(program.endpoints("b")["FETCH /things"]?.["semantic"]).toEqual(semantic);
  });

  it.each([
    ["https://127.0.0.1:8443/v1", "agents.example"],
    ["https://[::1]/v1", "agents.example"],
    ["https://0x7f.1", "agents.example"],
    ["https://api1.example", "agents.api1.example"],
  ])("makes of the host of %s the name %s", async (url, name) => {
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ servers: [{ url }] })) });
    await program.run("import", "x.json", "--output", "out");
    const { table = {} } = parseToml(program.read("out/agtp-server.toml"));
    expect(table["server"]).toEqual({ server_id: name });
  });

  it("tells of a first call whatever text the document offers for it", async () => {
    const half = { name: "id", in: "path", required: true, schema: { enum: ["\ud800"] } };
    const paths = { "/things/{id}": { get: { ...OK, parameters: [half] } } };
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ paths })) });
    const { exitCode, err } = await program.run("import", "x.json", "--output", "out");
    expect(exitCode).toBe(0);
    expect(err).toContain("agtp agtp://localhost FETCH /things/%EF%BF%BD --agent-id $GUIDE\n");
  });

  it("tells commands that are whole, however many scopes there are and whatever the directory's name", async () => {
    const tags = Array.from({ length: 60 }, (_, index) => `things-of-the-kind-${index}`);
    const paths = Object.fromEntries(
      tags.map((tag) => [`/${tag}`, { get: { ...OK, tags: [tag] } }]),
    );
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ paths })) });
    const { err } = await program.run("import", "x.json", "--output", "two  spaces");
    expect(err).toContain("  cd 'two  spaces'\n");
    expect(err).toContain(`--scope ${tags.map((tag) => `${tag}:read`).join(",")}\n`);
  });

  it("reports what it made as JSON", async () => {
    const program = makeOpenApiProgram(DOCUMENTS);
    const { out } = await program.run("import", "pets.json", "--output", "out", "--json");
    const report = JSON.parse(out);
    expect(report).toMatchObject({ title: "Pet Shop", base_urls: ["https://pets.example/api/v3"] });
    expect(report.left_out).toEqual([]);
    expect(report.endpoints[0]).toMatchObject({
      ...{ file: "endpoints/pet/add-pet.toml", method: "CREATE", path: "/pet" },
      ...{ operation: "POST /pet", operation_id: "addPet" },
      review: expect.arrayContaining([
        expect.objectContaining({ key: "endpoint.semantic.impact" }),
      ]),
    });
  });

  it.each([
    [{ swagger: "2.0", info: {}, paths: {} }, 1, "convert the document to OpenAPI 3"],
    [spec({ openapi: "3.3.0" }), 1, 'is OpenAPI "3.3.0", expected 3.0, 3.1 or 3.2'],
    [spec({ paths: { "/x": { $ref: "paths.yaml" } } }), 1, "is outside the document"],
    [spec({ paths: { "/x": {} } }), 1, "has no operations"],
    [spec({ servers: [] }), 1, "give --base-url"],
    [spec({ servers: [{ url: "/v1" }] }), 1, 'the server "/v1" is no https address'],
    [spec({ servers: [{ url: "https://u:p@x.example" }] }), 1, "no credentials"],
    [[], 2, "is no OpenAPI document"],
  ])("refuses %j with %i", async (document, code, message) => {
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(document) });
    const { exitCode, err } = await program.run("import", "x.json", "--output", "out");
    expect(err).toContain(message);
    expect(exitCode).toBe(code);
    expect(program.has("out")).toBe(false);
  });

  it("refuses a large document before it looks for what breaks the specification", async () => {
    const paths = Array.from({ length: 2000 }, (_, n) => [`/x${n}`, { get: OK }]);
    const document = spec({ paths: Object.fromEntries(paths), servers: [] });
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(document) });
    const before = cpuMs();
    await validateDocument({ ...document });
    const looking = cpuMs() - before;
    const asked = cpuMs();
    const { err } = await program.run("import", "x.json", "--output", "out");
    expect(err).toContain("give --base-url");
    expect(cpuMs() - asked).toBeLessThan(looking / 2);
  });

  it.each([
    [["import", "x.json"], "required option '-o, --output <dir>'"],
    [["import", "none.json", "--output", "o"], '"none.json" does not exist'],
    [["import", "https://x.example/a.json", "--output", "o"], "nothing is downloaded"],
    [["import", "x.json", "--output", "o", "--base-url", "http://x.example"], "must be an https"],
    [["import", "x.json", "--output", "o", "--base-url", "https://x/{y}"], "no variables"],
    [["import", "."], "required option"],
    [["import", ".", "--output", "o"], "must be a file, is a directory"],
    [["inport"], "unknown command"],
    [[], "Usage"],
  ])("cannot be asked for %j", async (args, message) => {
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({})) });
    const { exitCode, err, out } = await program.run(...args);
    expect(exitCode).toBe(2);
    expect(err + out).toContain(message);
  });

  it("takes another base URL, and an http one as https", async () => {
    const servers = [{ url: "http://plain.example/v1" }];
    const program = makeOpenApiProgram({ "x.json": JSON.stringify(spec({ servers })) });
    await program.run("import", "x.json", "--output", "a");
    expect(program.endpoints("a")["FETCH /things"]?.["handler"].url).toBe(
      "https://plain.example/v1/things",
    );
    await program.run("import", "x.json", "--output", "b", "--base-url", "https://other.example/");
    expect(program.endpoints("b")["FETCH /things"]?.["handler"].url).toBe(
      "https://other.example/things",
    );
  });

  it("says who it is and what it can", async () => {
    const program = makeOpenApiProgram();
    expect(await program.run("--version")).toMatchObject({ exitCode: 0 });
    for (const args of [["--help"], ["import", "--help"], ["export", "--help"]]) {
      const { exitCode, out } = await program.run(...args);
      expect(exitCode).toBe(0);
      expect(out).toContain("Usage: agtp-openapi");
    }
  });
});
