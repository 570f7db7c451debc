/** The rule that the sidecar and the import have in common. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { liftVerb, methodReader, readManifestEndpoint } from "../../src/openapi/http-form.ts";
import { loadShippedCatalog } from "../../src/openapi/import-files.ts";

const { catalog } = loadShippedCatalog();
const custom = new Set(["FROBNICATE"]);

function lift(httpMethod: string, path: string): string | undefined {
  const lifted = liftVerb(path, methodReader(catalog, httpMethod, custom));
  return lifted && `${lifted.method} ${lifted.path}`;
}

describe("liftVerb", () => {
  it.each([
    ["POST", "/orders/7/cancel", "CANCEL /orders/7"],
    ["POST", "/orders/7:cancel", "CANCEL /orders/7"],
    ["POST", "/orders/{id}:Roll-Back", "ROLLBACK /orders/{id}"],
    ["POST", "/orders/a:b:cancel", "CANCEL /orders/a:b"],
    ["POST", "/CANCEL", "CANCEL /"],
    ["POST", "/orders/7/frobnicate", "FROBNICATE /orders/7"],
    ["GET", "/orders/summarize", "SUMMARIZE /orders"],
    ["HEAD", "/orders:query", "QUERY /orders"],
  ])("%s %s is %s", (httpMethod, path, expected) => {
    expect(lift(httpMethod, path)).toBe(expected);
  });

  it.each([
    ["POST", "/orders/7"],
    ["POST", "/cancel/7"],
    ["POST", "/orders/:cancel"],
    ["POST", "/orders/7:cancelled"],
    ["POST", "/orders/7/delete"],
    ["POST", "/"],
    ["POST", ""],
    ["POST", "*"],
    ["GET", "/orders/7/cancel"],
    ["GET", "/orders/7:refund"],
    ["GET", "/orders/frobnicate"],
    ["DELETE", "/apps/7/grant"],
  ])("lifts nothing out of %s %s", (httpMethod, path) => {
    expect(lift(httpMethod, path)).toBeUndefined();
  });

  it("leaves a path that begins as the other one did, and shorter", () => {
    fc.assert(
      fc.property(fc.string(), (path) => {
        const lifted = liftVerb(path, methodReader(catalog, "POST"));
        if (lifted === undefined) return;
        expect(catalog.has(lifted.method)).toBe(true);
        expect(lifted.path === "/" || path.startsWith(lifted.path)).toBe(true);
      }),
    );
  });
});

describe("readManifestEndpoint", () => {
  const entry = {
    ...{ method: "BOOK", path: "/room", description: "Books.", namespace: "stays" },
    semantic: {
      ...{ intent: "Book a room.", actor: "agent", outcome: "It is booked." },
      ...{ capability: "transaction", confidence: 0.9, impact: "reversible", is_idempotent: false },
    },
    ...{ input_schema: { type: "object" }, output_schema: {}, errors: ["full", 7] },
  };

  it("has what an entry says, and the pair where it says nothing", () => {
    expect(readManifestEndpoint(entry)).toMatchObject({
      ...{ method: "BOOK", path: "/room", description: "Books.", namespace: "stays" },
      ...{ semantic: { intent: "Book a room." }, errors: ["full"], requiredScopes: [] },
    });
    const { description: _, namespace: __, ...bare } = entry;
    const read = readManifestEndpoint(bare);
    expect(read).toMatchObject({ description: "BOOK /room" });
    expect(read).not.toHaveProperty("namespace");
  });

  it.each([
    null,
    "BOOK /room",
    { ...entry, method: 7 },
    { ...entry, path: undefined },
    { ...entry, semantic: {} },
    { ...entry, semantic: null },
    { ...entry, input_schema: "object" },
    { ...entry, output_schema: [] },
  ])("is nothing for %j", (other) => {
    expect(readManifestEndpoint(other)).toBeUndefined();
  });
});
