/** Which method and path an operation becomes. */
import { describe, expect, it } from "vitest";
import { methodNames } from "../../src/catalog/path-grammar.ts";
import { createRegistry } from "../../src/endpoint/endpoint-registry.ts";
import { assignPairs } from "../../src/openapi/assign-pairs.ts";
import { httpRedirects, loadShippedCatalog } from "../../src/openapi/import-files.ts";
import type { DraftedEndpoint } from "../../src/openapi/import-operation.ts";
import { FieldSet } from "../../src/openapi/input-parameters.ts";
import { operationsOf } from "../../src/openapi/operations.ts";
import { cpuMs } from "../support/cpu-time.ts";

const { catalog } = loadShippedCatalog();
const names = methodNames(catalog, []);

/** Operations by `METHOD /path`: an operationId, or the operation. */
type Operations = Readonly<Record<string, string | object>>;

function assign(operations: Operations) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = "", path = ""] = name.split(" ");
    paths[path] ??= {};
    Object.assign(paths[path], {
      [method.toLowerCase()]:
        typeof operation === "string" ? { operationId: operation } : operation,
    });
  }
  const document = { openapi: "3.1.0", paths };
  return assignPairs(operationsOf(document), { catalog, names });
}

function pairs(operations: Operations): readonly string[] {
  return assign(operations).map(({ method, path }) => `${method} ${path.path}`);
}

function pair(name: string, operation: string | object = {}): string | undefined {
  return pairs({ [name]: operation })[0];
}

describe("the method of an operation", () => {
  it.each([
    // The path's own verb comes first.
    ["POST /orders/{id}/cancel", "stopOrder", "CANCEL /orders/{id}"],
    ["POST /orders/{id}:approve", "x", "APPROVE /orders/{id}"],
    // Of a DELETE it is the name of what goes.
    ["DELETE /apps/{id}/grant", "apps/delete-authorization", "REMOVE /apps/{id}/grants"],
    // Then the first word of the operationId, in whatever style it is written.
    ["GET /pets", "listPets", "LIST /pets"],
    ["GET /pets", "list-pets", "LIST /pets"],
    ["GET /pets", "list_pets_for_owner", "LIST /pets"],
    ["POST /machines/{id}/on", "Start_Machines", "START /machines/{id}/on"],
    ["PUT /pets/{id}", "updatePet", "UPDATE /pets/{id}"],
    ["POST /searches", "searchPets", "SEARCH /searches"],
    // No later word, whatever it is: it may as well name what is done to.
    ["GET /pets", "pets-list", "FETCH /pets"],
    ["GET /pets", "pets/list", "FETCH /pets"],
    ["GET /pets", "pets.search", "FETCH /pets"],
    ["POST /machines/{id}/on", "Machines_Start", "CREATE /machines/{id}/on"],
    ["POST /desk", "paymentsRefund", "CREATE /desk"],
    // Nor a word that only means the same as a method.
    ["POST /files", "uploadFile", "CREATE /files"],
    ["GET /session", "loginUser", "FETCH /session"],
    ["POST /pets", "add_pet", "CREATE /pets"],
    ["GET /pets/{id}", "getPet", "FETCH /pets/{id}"],
    ["DELETE /pets/{id}", "destroyPet", "REMOVE /pets/{id}"],
    // What only reads is not called by a word that changes something, nor the other way round.
    ["GET /pets/{id}/state", "cancelStatus", "FETCH /pets/{id}/state"],
    ["DELETE /pets/{id}", "listPets", "REMOVE /pets/{id}"],
    // Without words, the HTTP method.
    ["GET /pets", "", "FETCH /pets"],
    ["PATCH /pets/{id}", "42", "MODIFY /pets/{id}"],
    ["HEAD /pets", "", "PROBE /pets"],
    ["OPTIONS /pets", "", "INTROSPECT /pets"],
  ])("%s (%s) is %s", (name, id, expected) => {
    expect(pair(name, id)).toBe(expected);
  });

  it("never comes from the summary or the description", () => {
    const prose = { summary: "Updates a customer.", description: "Merge two customers." };
    const operation = { operationId: "PostCustomersCustomer", ...prose };
    const [assigned] = assign({ "POST /customers/{id}": operation });
    expect(assigned).toMatchObject({ method: "CREATE" });
    expect(assigned?.methodDoubt).toContain("a guess, POST says no more");
    expect(pair("GET /customers", prose)).toBe("FETCH /customers");
  });

  it("is a guess when POST is all there is", () => {
    expect(assign({ "POST /pets": {} })[0]).toMatchObject({
      ...{ method: "CREATE", methodDoubt: expect.stringContaining("a guess") },
    });
    expect(assign({ "GET /pets": {} })[0]?.methodDoubt).toBeUndefined();
  });
});

describe("the path of an operation", () => {
  it.each([
    ["GET /store/order/{order-id}", "FETCH /store/orders/{order_id}"],
    ["GET /a/{x}...{y}", "FETCH /a/{x}/{y}"],
    ["GET /files/{name}.json", "FETCH /files/{name}/json"],
    ["GET /v{version}/files", "FETCH /v/{version}/files"],
    ["GET /files/", "FETCH /files"],
    ["GET /a//b", "FETCH /a/b"],
    ["GET /files?kind=x", "FETCH /files"],
    ["GET /files#second", "FETCH /files"],
    ["GET /caf\u00e9/{stra\u00dfe}", "FETCH /caf%C3%A9/{stra_e}"],
    ["GET /index", "INDEX /"],
    ["GET /get/thing", "FETCH /gets/thing"],
    ["GET /quote/policy/{id}", "FETCH /quotes/policy/{id}"],
    ["GET /{id}/{id}", "FETCH /{id}/{id_2}"],
  ])("%s is %s", (name, expected) => {
    expect(pair(name)).toBe(expected);
  });

  it("loses a segment that the method says", () => {
    expect(pair("GET /search/code", "search/code")).toBe("SEARCH /code");
  });

  it("is never one of the protocol's own", () => {
    expect(pair("POST /query")).not.toBe("QUERY /");
    expect(pair("GET /agents/{id}", "discoverAgent")).not.toMatch(/^DISCOVER/);
  });
});

describe("pairs of several operations", () => {
  const many: Operations = {
    "GET /pets": "listPets",
    "GET /pets/": "listPets",
    "GET /pets/{id}": "getPet",
    "GET /pets/{name}": "getPetByName",
    "GET /pets/mine": "getMyPets",
    "GET /{kind}/first": "getFirst",
    "POST /pets/{id}/merge": "a",
    "PUT /pets/{id}/merge": "b",
    "PATCH /pets/{id}/merge": "c",
    "DELETE /pets/{id}/merge": "d",
  };

  it("can all be told from each other", () => {
    const entries = assign(many).map(({ method, path }) => ({ method, path: path.path }));
    expect(entries).toHaveLength(Object.keys(many).length);
    expect(createRegistry(entries).conflicts).toEqual([]);
  });

  it("are the same every time, and the first keeps what it would have alone", () => {
    expect(pairs(many)).toEqual(pairs(many));
    expect(pairs(many).slice(0, 3)).toEqual(["LIST /pets", "FETCH /pets", "FETCH /pets/{id}"]);
  });

  const alike = (prefix: string, id: string): Operations => {
    const names = Array.from({ length: 12 }, (_, at) => `GET ${prefix}/{p${at}}`);
    return Object.fromEntries(names.map((name) => [name, id]));
  };

  it.each<[string, Operations]>([
    ["one that ends in a parameter", { "GET /a/b/{x}": "", ...alike("/a", "") }],
    [
      "two of them, one behind the other",
      {
        ...{ "GET /a/b/{x}": "", "GET /a/b/by-get_2/{y}": "" },
        ...alike("/a", ""),
      },
    ],
    ["what is the protocol's own", alike("/agents", "discoverAgents")],
  ])("can be told from %s", (_, operations) => {
    const entries = assign(operations).map(({ method, path }) => ({ method, path: path.path }));
    expect(entries).toHaveLength(Object.keys(operations).length);
    expect(createRegistry(entries).conflicts).toEqual([]);
  });

  it("are said to be second choices", () => {
    const [, second] = assign({ "GET /pets": "listPets", "GET /pets/": "listPets" });
    expect(second?.methodDoubt).toContain("belongs to another endpoint");
  });
});

// AGTP-API §6.1
describe("operations whose pairs would be the protocol's own", () => {
  it.each([
    ["GET /tools", "discoverTools", "FETCH /tools"],
    ["POST /agents/{id}", "activateAgent", "CREATE /agents/{id}"],
    ["DELETE /agents/{id}", "revokeAgent", "REMOVE /agents/{id}"],
    ["POST /agents/{id}/revoke", "x", "CREATE /agents/{id}/revokes"],
  ])("%s, %s, is %s", (name, id, expected) => {
    expect(pair(name, id)).toBe(expected);
  });
});

describe("a document of thousands of operations", () => {
  const operations = Array.from({ length: 5000 }, (_, index) => `GET /things-${index}/{id}`);

  it("has its pairs and its redirects at once", () => {
    const named = Object.fromEntries(operations.map((name) => [name, "listThings"]));
    const began = cpuMs();
    const made = assign(named).map(({ method, path: { path } }, index) => {
      const operation = { httpMethod: "GET", path: operations[index]?.slice(4) };
      return { method, path, operation, table: { method } } as unknown as DraftedEndpoint;
    });
    expect(new Set(made.map(({ path }) => path)).size).toBe(operations.length);
    expect(httpRedirects(made, catalog, names).length).toBe(operations.length);
    // Each with each in text takes most of a minute.
    expect(cpuMs() - began).toBeLessThan(15_000);
  });

  it("keeps the names of fields apart at once", () => {
    const fields = new FieldSet();
    const began = cpuMs();
    for (let index = 0; index < 40_000; index += 1) {
      fields.add(`f${index}`, "query", { schema: {}, isRequired: false });
    }
    expect(fields.add("f7", "body", { schema: {}, isRequired: false })).toBe("body_f7");
    expect(cpuMs() - began).toBeLessThan(10_000);
  });
});

describe("the doubts of a pair", () => {
  it("name the segments that are called otherwise, and nothing where none is", () => {
    const [renamed, kept] = assign({ "DELETE /apps/{id}/grant": "x", "DELETE /apps/{id}": "y" });
    expect(renamed).toMatchObject({
      pathDoubt: "grant is grants here, because a method has that name",
    });
    expect(kept).not.toHaveProperty("pathDoubt");
  });
});

describe("paths that are alike in thousands", () => {
  it("are told apart in seconds, by the number behind", () => {
    const alike = Array.from({ length: 2000 }, (_, index) => `GET /a/{p${index}}`);
    const started = cpuMs();
    const given = pairs(Object.fromEntries(alike.map((name) => [name, {}])));
    expect(cpuMs() - started).toBeLessThan(20_000);
    expect(new Set(given).size).toBe(2000);
    expect(given.at(-1)).toBe("FETCH /a/{p1999}/by-get_1995");
  });
});
