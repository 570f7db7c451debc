import { describe, expect, it } from "vitest";
import { endpointWarning } from "../../src/dispatch/route.ts";
import type { EndpointDeprecation } from "../../src/endpoint/endpoint.ts";
import { makeEndpoint } from "../support/endpoint-definition.ts";

const BINDING = { type: "registered_function", function: "a.b" } as const;

// AGTP-API §6.5
describe("endpointWarning", () => {
  it.each<[string, EndpointDeprecation]>([
    [
      "deprecated; successor=RESERVE /rooms; removed_in=3.0.0",
      {
        deprecated_in: "2.1.0",
        removed_in: "3.0.0",
        successor: { method: "RESERVE", path: "/rooms" },
      },
    ],
    ["deprecated; successor=RESERVE", { deprecated_in: "1", successor: { method: "RESERVE" } }],
    ["deprecated; successor=/rooms", { deprecated_in: "1", successor: { path: "/rooms" } }],
    ["deprecated; removed_in=3.0.0", { deprecated_in: "1", removed_in: "3.0.0" }],
    ["deprecated", { deprecated_in: "1" }],
  ])("writes %s", (expected, deprecated) => {
    expect(endpointWarning(makeEndpoint(BINDING, { deprecated }))).toBe(expected);
  });

  it("says nothing of an endpoint that is not deprecated", () => {
    expect(endpointWarning(makeEndpoint(BINDING))).toBeUndefined();
  });
});
