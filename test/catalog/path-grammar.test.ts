import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Catalog, Verb } from "../../src/catalog/catalog.ts";
import {
  checkPath,
  checkTemplate,
  createPathCheck,
  methodNames,
  templateParameters,
} from "../../src/catalog/path-grammar.ts";

const verb = (name: string): readonly [string, Verb] => [
  name,
  { name, categories: [], description: "" },
];
const catalog: Catalog = {
  version: "1.0.0",
  embedded: ["QUERY"],
  legacy: new Map(),
  categories: new Map(),
  verbs: new Map([verb("QUERY"), verb("BOOK"), verb("ORDER")]),
  has: (name) => name === "QUERY" || name === "BOOK" || name === "ORDER",
};
const names = methodNames(catalog, ["FROBNICATE"]);

describe("methodNames", () => {
  it("has the catalog's verbs, the five HTTP verbs and the server's own", () => {
    expect([...names].sort()).toEqual(
      ["query", "book", "order", "get", "post", "put", "delete", "patch", "frobnicate"].sort(),
    );
  });

  it("leaves out what can be no method name", () => {
    expect(methodNames(catalog, ["", "-", "42"]).size).toBe(names.size - 1);
  });
});

describe("checkPath", () => {
  // AGTP-API §5.1-5.3
  it.each([
    "/",
    "/room",
    "/room/42",
    "/a//b",
    "/a///b",
    "/Rooms/kebab-case/snake_case/CamelCase",
    "/orders/bookings/querying",
    "/~user/v1.0/a:b@c/!$&'()*+,;=",
    "/caf%C3%A9/%20/a%2Fb",
    "/.././.",
    "/-/_/--",
    "/b%DFook",
  ])("accepts %s", (path) => {
    expect(checkPath(path, names)).toBeUndefined();
  });

  it.each([
    ["", ""],
    ["room", "room"],
    ["room/42", "room"],
    ["*", "*"],
    ["room/", "room"],
    ["//", "/"],
    ["//room", "/"],
    ["/room/", "/"],
    ["/a//", "/"],
    ["/room/{id}", "{id}"],
    ["/room/a}", "a}"],
    ["/room/a b", "a b"],
    ["/a/caf\u00e9/b", "caf\u00e9"],
    ["/a/\u017ft/b", "\u017ft"],
    ['/a/"', '"'],
    ["/a/b?c", "b?c"],
    ["/a/b#c", "b#c"],
    ["/a/b\\c", "b\\c"],
    ["/a/b\n", "b\n"],
    ["/a/%", "%"],
    ["/a/%4", "%4"],
    ["/a/%zz/b", "%zz"],
    ["/%41%4/b", "%41%4"],
  ])("refuses %j and names the segment %j", (path, segment) => {
    expect(checkPath(path, names)?.segment).toBe(segment);
  });

  it.each([
    ["/BOOK", "BOOK"],
    ["/room/book", "book"],
    ["/bOoK/42", "bOoK"],
    ["/a/b-o_o--k_/c", "b-o_o--k_"],
    ["/a//Order", "Order"],
    ["/get", "get"],
    ["/PATCH/x", "PATCH"],
    ["/frob_nicate", "frob_nicate"],
    ["/%42OOK", "%42OOK"],
    ["/%62%6f%6F%6b", "%62%6f%6F%6b"],
    ["/bo%2Dok", "bo%2Dok"],
    ["/bo%5fok", "bo%5fok"],
  ])("refuses the method name in %s, whatever its case and separators", (path, segment) => {
    const fault = checkPath(path, names);
    expect(fault?.segment).toBe(segment);
    expect(fault?.message).toContain("name of a method");
  });

  it("decodes a segment once only", () => {
    expect(checkPath("/%2542OOK", names)).toBeUndefined();
  });

  it("quotes no more than the beginning of a long segment", () => {
    const fault = checkPath(`/${"{".repeat(8190)}`, names);
    expect(fault?.segment).toHaveLength(8190);
    expect(fault?.message.length).toBeLessThan(200);
  });
});

describe("createPathCheck", () => {
  it("finds what checkPath finds, however a name is written", () => {
    const long = methodNames(catalog, ["A".repeat(32), "Z".repeat(31)]);
    const check = createPathCheck(long);
    const part = fc.constantFrom(
      ...["/", "book", "BOOK", "bo", "ok", "%42OOK", "-", "_", "B", "k", "query", "1", "@", "{"],
      ...["a".repeat(32), "a".repeat(31), "a".repeat(64), "Z".repeat(31)],
    );
    const path = fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join("")}`);
    fc.assert(
      fc.property(path, (one) => {
        expect(check(one)).toEqual(checkPath(one, long));
      }),
      { numRuns: 3000 },
    );
    expect(check(`/rooms/${"a".repeat(32)}`)?.segment).toBe("a".repeat(32));
  });
});

describe("checkTemplate", () => {
  it.each([
    "/",
    "/room/{room_id}",
    "/{a}/{b}/{A}",
    "/orders/{order_id}/line-items/{line_item_id}",
    "/{BOOK}",
    "/{1}",
    "/a//{b}",
  ])("accepts %s", (path) => {
    expect(checkTemplate(path, names)).toBeUndefined();
  });

  it.each([
    ["room/{id}", "room"],
    ["{id}", "{id}"],
    ["/room/", "/"],
    ["//{id}", "/"],
    ["/a/prefix-{id}", "prefix-{id}"],
    ["/a/{id}.json", "{id}.json"],
    ["/a/{x}{y}", "{x}{y}"],
    ["/a/{}", "{}"],
    ["/a/{id", "{id"],
    ["/a/id}", "id}"],
    ["/a/{room-id}", "{room-id}"],
    ["/a/{?query,page}", "{?query,page}"],
    ["/a/{+reserved}", "{+reserved}"],
    ["/a/{#fragment}", "{#fragment}"],
    ["/a/{/path}", "{"],
    ["/a/{id*}", "{id*}"],
    ["/a/{id:3}", "{id:3}"],
    ["/a/{id}/{id}", "{id}"],
    ["/a b/{id}", "a b"],
    ["/a%4/{id}", "a%4"],
    ["/Book/{id}", "Book"],
    ["/b%4Fok/{id}", "b%4Fok"],
  ])("refuses %j and names the segment %j", (path, segment) => {
    expect(checkTemplate(path, names)?.segment).toBe(segment);
  });
});

describe("templateParameters", () => {
  it("lists the parameters in order", () => {
    expect(templateParameters("/orders/{order_id}/items/{item_id}")).toEqual([
      "order_id",
      "item_id",
    ]);
    expect(templateParameters("/orders")).toEqual([]);
    expect(templateParameters("/a/x-{id}")).toEqual([]);
  });
});
