/** Requests find their operation, whatever their paths hold. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RouteTable } from "../../../../src/modules/openwop/http/authorize.ts";

const TABLE = new RouteTable([
  { method: "POST", path: "/v1/runs" },
  { method: "POST", path: "/v1/runs:bulk-cancel" },
  { method: "GET", path: "/v1/runs/{runId}" },
  { method: "POST", path: "/v1/runs/{runId}:fork" },
  { method: "GET", path: "/v1/packs/export" },
]);

describe("RouteTable", () => {
  it("tells names behind a colon from values", () => {
    expect(TABLE.find("POST", "/v1/runs/a:fork")).toMatchObject({
      ...{ kind: "found", params: { runId: "a" } },
    });
    expect(TABLE.find("POST", "/v1/runs:bulk-cancel")).toMatchObject({ kind: "found" });
    expect(TABLE.find("POST", "/v1/runs/:fork")).toEqual({
      ...{ kind: "other-methods", allowed: ["GET"] },
    });
    expect(TABLE.find("PUT", "/v1/runs")).toEqual({ kind: "other-methods", allowed: ["POST"] });
  });

  it.each(["", "/", "/v1", "/v1/runs/", "/v1/runs/a/b", "/v1/packs", "/v1/runs/%zz"])(
    "finds nothing at %j",
    (path) => {
      expect(TABLE.find("GET", path)).toBeUndefined();
    },
  );

  it("gives every value back as it was encoded", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (runId) => {
        const match = TABLE.find("GET", `/v1/runs/${encodeURIComponent(runId)}`);
        expect(match).toMatchObject({ params: { runId } });
      }),
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (method, path) => {
        TABLE.find(method, path);
      }),
    );
  });
});
