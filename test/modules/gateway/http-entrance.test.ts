import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Route } from "../../../src/dispatch/routes/route.ts";
import type { Impact } from "../../../src/endpoint/endpoint.ts";
import { createRegistry } from "../../../src/endpoint/endpoint-registry.ts";
import { inputShape } from "../../../src/endpoint/input-shape.ts";
import { createVerbRoutes, splitQuery } from "../../../src/modules/gateway/http-entrance.ts";
import { makePolicy } from "../../support/policy.ts";
import { smallVocabulary } from "../../support/vocabulary.ts";

function route(method: string, path: string, impact: Impact): Route {
  return { method, path, definition: { semantic: { impact } } } as Route;
}

const { catalog, names } = smallVocabulary();
const { registry } = createRegistry([
  route("FETCH", "/orders/{id}", "informational"),
  route("CREATE", "/orders", "reversible"),
  route("CANCEL", "/orders/{id}", "irreversible"),
  route("AUDIT", "/orders", "informational"),
  route("FROBNICATE", "/orders", "informational"),
  route("QUERY", "/rooms/{id}", "informational"),
  route("FETCH", "/tickets/{id}", "irreversible"),
]);
const verbs = createVerbRoutes({
  ...{ catalog, names, registry, customMethods: ["FROBNICATE"] },
  methodPolicy: makePolicy({ custom: ["FROBNICATE"] }),
});

// formats "The HTTP sidecar": verb lifting
describe("translate", () => {
  it.each([
    ["POST", "/orders/7/cancel", "CANCEL", "/orders/7"],
    ["POST", "/orders/7:cancel", "CANCEL", "/orders/7"],
    ["POST", "/orders/7/Can-cel", "CANCEL", "/orders/7"],
    ["PUT", "/orders/7/CANCEL", "CANCEL", "/orders/7"],
    ["POST", "/orders/frobnicate", "FROBNICATE", "/orders"],
    ["POST", "/query", "QUERY", "/"],
    ["POST", "/a:b:book", "BOOK", "/a:b"],
    ["GET", "/orders/audit", "AUDIT", "/orders"],
    ["HEAD", "/orders:audit", "AUDIT", "/orders"],
    ["GET", "/orders/frobnicate", "FROBNICATE", "/orders"],
  ])("lifts the verb out of %s %s", (method, path, lifted, rest) => {
    expect(verbs.translate(method, path)).toEqual({ method: lifted, path: rest });
  });

  it.each([
    ["GET", "/orders/7/cancel"],
    ["GET", "/orders/7:cancel"],
    ["GET", "/nowhere/audit"],
    ["POST", "/orders/7"],
    ["POST", "/cancel/7"],
    ["POST", "/:cancel"],
    ["POST", "/orders/7%3Acancel"],
    ["POST", "/orders/7/"],
    ["DELETE", "/"],
  ])("leaves %s %s as it is", (method, path) => {
    expect(verbs.translate(method, path)).toEqual({ method, path });
  });

  it("asks for what HEAD leaves out, too", () => {
    expect(verbs.translate("HEAD", "/orders/7")).toEqual({ method: "GET", path: "/orders/7" });
    expect(verbs.translate("HEAD", "/orders/7/cancel").method).toBe("GET");
  });

  it("says of every path what was in it, and never makes a reading method change something", () => {
    const segment = fc.oneof(
      fc.constantFrom("orders", "7", "cancel", "7:cancel", "audit", "x:audit", "create"),
      fc.stringMatching(/^[a-z0-9:_-]{1,8}$/),
    );
    const path = fc
      .array(segment, { minLength: 1, maxLength: 4 })
      .map((all) => `/${all.join("/")}`);
    const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");
    fc.assert(
      fc.property(method, path, (http, target) => {
        const pair = verbs.translate(http, target);
        expect(target.startsWith(pair.path === "/" ? "/" : pair.path)).toBe(true);
        if (http !== "GET" && http !== "HEAD") return;
        const found = registry.find(pair.method, pair.path)?.entry.definition.semantic.impact;
        expect(found ?? "informational").toBe("informational");
      }),
    );
  });
});

describe("mayChange", () => {
  it.each([
    ["GET", "/tickets/7", true],
    ["HEAD", "/tickets/7", true],
    ["GET", "/orders/7", false],
    ["GET", "/orders/7/cancel", false],
    ["GET", "/nowhere", false],
    ["GET", "/orders/audit", false],
  ])("says of %s %s whether it does more than inform: %s", (method, path, may) => {
    expect(verbs.mayChange(method, path)).toBe(may);
  });
});

describe("allowed", () => {
  it("lists the HTTP methods that find an endpoint", () => {
    expect(verbs.allowed("/orders/7")).toEqual(["GET", "HEAD", "OPTIONS"]);
    expect(verbs.allowed("/orders")).toEqual(["OPTIONS", "POST"]);
    expect(verbs.allowed("/orders/7/cancel")).toContain("POST");
    expect(verbs.allowed("/orders/7/cancel")).not.toContain("GET");
    expect(verbs.allowed("/orders/audit")).toContain("HEAD");
    expect(verbs.allowed("/rooms/7")).toEqual(["OPTIONS", "QUERY"]);
    expect(verbs.allowed("/orders/7/cancel")).not.toContain("LOCK");
    expect(verbs.allowed("/nowhere")).toEqual([]);
    expect(verbs.allowed("/nowhere/cancel")).toEqual([]);
  });

  it("follows the policy: what it disallows or sends elsewhere", () => {
    const strict = createVerbRoutes({
      ...{ catalog, names, registry, customMethods: [] },
      methodPolicy: makePolicy({
        disallow: ["FETCH"],
        redirects: [{ fromMethod: "BOOK", fromPath: "/orders", toMethod: "CREATE" }],
      }),
    });
    expect(strict.allowed("/orders/7")).toEqual([]);
    expect(strict.allowed("/orders/book")).toContain("POST");
  });

  it("lifts under GET only what a redirect does not turn into something else", () => {
    const sent = createVerbRoutes({
      ...{ catalog, names, registry, customMethods: [] },
      methodPolicy: makePolicy({
        redirects: [
          { fromMethod: "AUDIT", fromPath: "/orders", toMethod: "CANCEL", toPath: "/orders/1" },
        ],
      }),
    });
    expect(sent.translate("GET", "/orders/audit").method).toBe("GET");
  });
});

const list = (items: object): object => ({ type: "array", items });
const SHAPE = inputShape({
  type: "object",
  properties: {
    ...{ tags: list({ type: "string" }), ids: { $ref: "#/$defs/ids" }, n: { type: "integer" } },
    ...{ either: { type: ["array", "string"] }, flags: list({ type: ["boolean", "null"] }) },
    ...{ "a b": list({}), maybe: { type: ["array", "null"], items: { type: "number" } } },
  },
  $defs: { ids: list({ $ref: "#/$defs/id" }), id: { type: "integer" } },
});

// AGTP-API §5.5
describe("a query", () => {
  it.each([
    ["tags=a&tags=b", "", { tags: ["a", "b"] }],
    ["tags=1", "", { tags: ["1"] }],
    ["tags", "", { tags: [""] }],
    ["ids=1&n=2&ids=x", "n=2", { ids: [1, "x"] }],
    ["flags=true&maybe=1.5", "", { flags: [true], maybe: [1.5] }],
    ["a%20b=%C3%A4&n=%31", "n=%31", { "a b": ["ä"] }],
  ])("%s has lists", (query, rest, lists) => {
    expect(splitQuery(query, SHAPE)).toEqual({ rest, lists });
  });

  it.each(["n=1&n=2", "either=a&either=b", "", "__proto__=1", "tags=%zz", "%zz=1"])(
    "%s is left as it is",
    (query) => {
      expect(splitQuery(query, SHAPE)).toBeUndefined();
    },
  );
});
