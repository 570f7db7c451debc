/** Imported APIs, served at once in front of the services that they describe. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createDaemon } from "../support/daemon.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { type HttpsUpstream, type SeenRequest, startUpstream } from "../support/https-upstream.ts";
import { CODE_HOST, PAYMENTS, PET_SHOP } from "../support/openapi-documents.ts";
import { makeOpenApiProgram } from "../support/openapi-program.ts";

let upstream: HttpsUpstream;

beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

type Ask = (method: string, path: string, body?: object) => Promise<TestReply>;

/** Imports a document, serves it in front of the upstream, and answers with a client of it. */
async function serve(spec: object, env: Readonly<Record<string, string>>): Promise<Ask> {
  const program = makeOpenApiProgram({ "spec.json": JSON.stringify(spec) });
  const args = [
    "import",
    "spec.json",
    "--output",
    "served",
    "--base-url",
    `${upstream.origin}/api`,
  ];
  expect(await program.run(...args)).toMatchObject({ exitCode: 0 });
  const directory = join(program.directory, "served");
  trustUpstream(directory);
  const configPath = join(directory, "agtp-server.toml");
  const loose =
    '\n[policies]\nscope_required_for_invocation = false\n[policies.identity]\nunknown_agents = "accept"\n';
  writeFileSync(configPath, readFileSync(configPath, "utf8") + loose);
  const served = await createDaemon({ configPath, directory }, env);
  onTestFinished(() => served.close());
  const client = await served.connect();
  let asked = 0;
  return async (method, path, body = {}) => {
    const headers = { "Agent-ID": "a".repeat(64) };
    client.write(encodeRequest({ method, path, headers, body }));
    asked += 1;
    const reply = (await client.replies(asked))[asked - 1];
    if (reply === undefined) throw new Error("the daemon closed the connection");
    return reply;
  };
}

/** The upstream of a test has a certificate of its own, and its caller is anybody. */
function trustUpstream(directory: string): void {
  writeFileSync(join(directory, "upstream.pem"), upstream.ca);
  const folder = join(directory, "endpoints");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".toml")) continue;
    const file = join(folder, name);
    const text = readFileSync(file, "utf8");
    const open = text.replace(/^required_scopes = .*\n/m, "");
    writeFileSync(file, open.replace("timeout_seconds = 30", '$&\nca = "upstream.pem"'));
  }
}

function lastSeen(): SeenRequest {
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error("the upstream was not asked");
  return seen;
}

const PET_ENV = { IMPORT_PET_SHOP_SHOP_AUTH: "token-1", IMPORT_PET_SHOP_API_KEY: "key-1" };
const REX = { id: 7, name: "Rex", nickname: null, mood: "good", category: { name: "dogs" } };

/** The parameters of OAS 3.2.0 §4.12.4: styles by name, and what stands in the URL for the value of each. */
describe("parameters", () => {
  const text = { type: "string" };
  const list = { type: "array", items: text };
  const named = { type: "object", properties: { R: { type: "integer" }, G: text } };
  const free = { type: "object", additionalProperties: text };
  const json = (schema: object) => ({ content: { "application/json": { schema } } });
  const COLORS = ["blue", "b,l&=+/?#é ~!*'()"];
  const ENCODED = "b%2Cl%26%3D%2B%2F%3F%23%C3%A9%20%7E%21*%27%28%29";
  const PATH_ENCODED = "b%2Cl%26%3D%2B%2F%3F%23%C3%A9%20~!*'()";

  it.each([
    [{ schema: list }, { color: COLORS }, `?color=blue&color=${ENCODED}`],
    [{ schema: list, explode: false }, { color: COLORS }, `?color=blue,${ENCODED}`],
    [{ schema: named }, { R: 100, G: "a b" }, "?R=100&G=a%20b"],
    [{ schema: named, explode: false }, { color: { R: 100, G: "," } }, "?color=R,100,G,%2C"],
    [{ schema: free }, { color: { page: "4", q: "é" } }, "?page=4&q=%C3%A9"],
    [{ schema: list, style: "spaceDelimited" }, { color: ["a", "b"] }, "?color=a%20b"],
    [{ schema: list, style: "pipeDelimited" }, { color: ["a", "b"] }, "?color=a%7Cb"],
    [{ schema: named, style: "deepObject" }, { color: { R: 100 } }, "?color%5BR%5D=100"],
    [json(named), { color: { R: 100 } }, "?color=%7B%22R%22%3A100%7D"],
    [json(list), { color: ["a"] }, "?color=%5B%22a%22%5D"],
    [json(text), { color: "a" }, "?color=%22a%22"],
    [{ schema: text, allowReserved: true }, { color: "a/b" }, "?color=a%2Fb"],
    [{ schema: text }, { color: "" }, "?color="],
    [{ schema: list }, {}, ""],
  ])("in the query, as %j, are sent as they should be", async (how, input, query) => {
    const parameters = [{ name: "color", in: "query", ...how }];
    const get = { parameters, responses: { "200": { description: "x" } } };
    const ask = await serve(specOf({ "/colors": { get } }), {});
    upstream.respondJson(200, {});
    expect((await ask("FETCH", "/colors", input)).status).toBe(200);
    expect(lastSeen().url).toBe(`/api/colors${query}`);
  });

  it.each([
    [{ schema: text }, "blue", "blue"],
    [{ schema: list }, "a,b c", "a,b%20c"],
    [{ schema: text, style: "label" }, "blue", ".blue"],
    [{ schema: list, style: "label" }, "a,b", ".a,b"],
    [{ schema: text, style: "matrix" }, "blue", ";color=blue"],
    [{ schema: list, style: "matrix" }, "a,b", ";color=a,b"],
    [{ schema: text }, COLORS[1] ?? "", PATH_ENCODED],
  ])("in the path, as %j, are sent as they should be", async (how, value, segment) => {
    const parameters = [{ name: "color", in: "path", required: true, ...how }];
    const get = { parameters, responses: { "200": { description: "x" } } };
    const ask = await serve(specOf({ "/colors/{color}": { get } }), {});
    upstream.respondJson(200, {});
    expect((await ask("FETCH", `/colors/${encodeURIComponent(value)}`)).status).toBe(200);
    expect(lastSeen().url).toBe(`/api/colors/${segment}`);
  });

  function specOf(paths: object): object {
    return { openapi: "3.2.0", info: { title: "Colors", version: "1" }, paths };
  }
});

describe("files", () => {
  // As Spring describes what it sends from a stream.
  it("are sent and answered as they are where the document leaves their type open", async () => {
    const content = { "*/*": { schema: { $ref: "#/components/schemas/File" } } };
    const put = {
      requestBody: { required: true, content },
      responses: { "200": { description: "The new file.", content } },
    };
    const components = { schemas: { File: { type: "string", format: "binary" } } };
    const spec = { openapi: "3.0.1", info: { title: "Files", version: "1" }, components };
    const ask = await serve({ ...spec, paths: { "/logo": { put } } }, {});
    upstream.respond((response) =>
      response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF"),
    );
    const sent = { content: Buffer.from("a picture").toString("base64") };
    expect((await ask("PUT", "/logo", sent)).body).toEqual({
      ...{ base64: Buffer.from("%PDF").toString("base64"), media_type: "application/pdf" },
    });
    expect(lastSeen().body).toBe("a picture");
    expect(lastSeen().headers["content-type"]).toBe("application/octet-stream");
  });
});

describe("the pet shop", () => {
  it("is asked as its document says", async () => {
    const ask = await serve(PET_SHOP, PET_ENV);
    upstream.respondJson(200, REX);
    const fetched = await ask("FETCH", "/pet/7");
    expect([fetched.status, fetched.body]).toEqual([200, REX]);
    expect(lastSeen()).toMatchObject({ method: "GET", url: "/api/pet/7" });
    expect(lastSeen().headers).toMatchObject({ api_key: "key-1" });
    expect(lastSeen().headers.authorization).toBeUndefined();

    const { id: _id, ...unborn } = REX;
    expect((await ask("CREATE", "/pet", unborn)).status).toBe(200);
    expect(lastSeen()).toMatchObject({ method: "POST", url: "/api/pet" });
    expect(lastSeen().headers.authorization).toBe("Bearer token-1");
    expect(JSON.parse(lastSeen().body)).toEqual(unborn);

    upstream.respondJson(200, [REX]);
    const query = { status: "sold", ids: [1, 2], filter_max_price: 9.5, x_trace_id: "t-1" };
    expect((await ask("FIND", "/pet/findByStatus", query)).body).toEqual([REX]);
    expect(lastSeen().url).toBe(
      "/api/pet/findByStatus?status=sold&ids=1,2&filter%5Bmax-price%5D=9.5",
    );
    expect(lastSeen().headers["x-trace-id"]).toBe("t-1");

    const image = Buffer.from("a picture");
    upstream.respondJson(200, { code: 1 });
    await ask("CREATE", "/pet/7/uploadImage", { content: image.toString("base64") });
    expect(lastSeen()).toMatchObject({ url: "/api/pet/7/uploadImage", body: "a picture" });

    upstream.respondJson(200, { id: 1, petId: 7 });
    expect((await ask("ORDER", "/store", { petId: 7 })).body).toEqual({ id: 1, petId: 7 });
    expect(lastSeen()).toMatchObject({ method: "POST", url: "/api/store/order" });
    expect((await ask("FETCH", "/store/orders/1")).status).toBe(200);
    expect(lastSeen()).toMatchObject({ method: "GET", url: "/api/store/order/1" });
  });

  it("answers what the HTTP verbs ask for as well", async () => {
    const ask = await serve(PET_SHOP, PET_ENV);
    upstream.respondJson(200, REX);
    expect((await ask("GET", "/pet/7")).status).toBe(200);
    expect((await ask("PUT", "/pet", { name: "Rex" })).status).toBe(200);
    expect(lastSeen()).toMatchObject({ method: "PUT", url: "/api/pet" });
    upstream.respondJson(200, []);
    expect((await ask("GET", "/pet/findByStatus?status=sold")).body).toEqual([]);
    expect(lastSeen().url).toBe("/api/pet/findByStatus?status=sold");
  });

  it("answers with its named errors, and refuses what its schemas refuse", async () => {
    const ask = await serve(PET_SHOP, PET_ENV);
    upstream.respondJson(404, { secret: "internal" });
    const missing = await ask("FETCH", "/pet/7");
    expect(missing.status).toBe(422);
    expect(missing.body).toMatchObject({ error: { code: "pet_not_found" } });
    expect(missing.text).not.toContain("internal");
    const asked = upstream.seen.length;
    for (const input of [{ name: "" }, { name: "Rex", id: 1 }, { name: "Rex", mood: "odd" }, {}]) {
      const { status, body } = await ask("CREATE", "/pet", input);
      expect([status, body]).toMatchObject([422, { error: { code: "schema-validation-failed" } }]);
    }
    expect(upstream.seen.length).toBe(asked);
    upstream.respondJson(200, { id: "seven", name: "Rex" });
    expect((await ask("FETCH", "/pet/7")).status).toBe(500);
  });
});

describe("the payment provider", () => {
  it("gets its forms, its deep objects and its files", async () => {
    const ask = await serve(PAYMENTS, { IMPORT_PAYMENTS_BASIC_AUTH: "dTpw" });
    const customer = { id: "c1", object: "customer", owner: null, default_source: "s1" };
    upstream.respondJson(200, customer);
    const input = { email: "a+b@x.example", metadata: { plan: "gold & more" } };
    expect((await ask("CREATE", "/v1/customers", input)).body).toEqual(customer);
    expect(lastSeen().body).toBe("email=a%2Bb%40x.example&metadata%5Bplan%5D=gold+%26+more");
    expect(lastSeen().headers).toMatchObject({
      ...{ authorization: "Basic dTpw", "content-type": "application/x-www-form-urlencoded" },
    });

    expect((await ask("CAPTURE", "/v1/charges/ch_1")).status).toBe(200);
    expect(lastSeen()).toMatchObject({ method: "POST", url: "/api/v1/charges/ch_1/capture" });
    await ask("REFUND", "/v1/charges/ch_1");
    expect(lastSeen()).toMatchObject({ method: "POST", url: "/api/v1/charges/ch_1:refund" });

    upstream.respondJson(200, { data: [customer], has_more: false });
    const list = await ask("FETCH", "/v1/customers", { created: { gt: 5 }, expand: ["owner"] });
    expect(list.status).toBe(200);
    expect(lastSeen().url).toBe("/api/v1/customers?created%5Bgt%5D=5&expand%5B0%5D=owner");

    upstream.respondJson(200, {});
    const file = { base64: Buffer.from("x;y").toString("base64"), filename: "a.csv" };
    expect((await ask("CREATE", "/v1/files", { file, purpose: "audit" })).status).toBe(200);
    expect(lastSeen().headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(lastSeen().body).toContain('name="file"; filename="a.csv"');

    upstream.respondJson(402, {});
    expect((await ask("CAPTURE", "/v1/charges/ch_1")).body).toMatchObject({
      error: { code: "card_declined" },
    });
  });
});

describe("the code host", () => {
  it("is asked through its own paths, whatever they have become", async () => {
    const ask = await serve(CODE_HOST, { IMPORT_CODE_HOST_TOKEN: "t" });
    upstream.respondJson(201, { number: 3, assignee: { login: "a" }, parent: { number: 2 } });
    const issue = { title: "Broken", body: null, body_owner: "me", labels: ["bug", { name: "x" }] };
    expect((await ask("CREATE", "/repos/o/r/issues", issue)).status).toBe(200);
    expect(lastSeen().url).toBe("/api/repos/o/r/issues");
    const { body_owner: owner, ...rest } = issue;
    expect(JSON.parse(lastSeen().body)).toEqual({ ...rest, owner });

    upstream.respond((response) => response.writeHead(204).end());
    expect((await ask("MERGE", "/repos/o/r/pulls/4", { sha: "f00" })).status).toBe(200);
    expect(lastSeen()).toMatchObject({ method: "PUT", url: "/api/repos/o/r/pulls/4/merge" });
    expect((await ask("FETCH", "/repos/o/r/compares/a/b")).status).toBe(200);
    expect(lastSeen().url).toBe("/api/repos/o/r/compare/a...b");

    upstream.respond((response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    );
    expect((await ask("CREATE", "/markdown/raw", { content: "# x" })).body).toEqual({
      ...{ text: "<p>", media_type: "text/html" },
    });
    expect(lastSeen().body).toBe("# x");

    upstream.respondJson(200, [
      { type: "star", at: "now" },
      { type: "push", size: 1 },
    ]);
    expect((await ask("FETCH", "/events")).status).toBe(200);
    upstream.respondJson(200, [{ type: "fork" }]);
    expect((await ask("FETCH", "/events")).status).toBe(500);
  });
});
