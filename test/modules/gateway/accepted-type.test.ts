import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceptedType } from "../../../src/modules/gateway/http-answer.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const OWN = "application/vnd.agtp+json";
const MANIFEST = "application/vnd.agtp.manifest+json";

// RFC 9110 §12.5.1
describe("acceptedType", () => {
  it.each([
    undefined,
    "*/*",
    "application/json",
    "text/html, */*;q=0.1",
    "application/*",
    "nonsense",
  ])("says plain JSON to a client that accepts %s", (accept) => {
    expect(acceptedType(OWN, accept)).toBe(JSON_TYPE);
  });

  it("says AGTP's own type to a client that asks for it by name", () => {
    expect(acceptedType(OWN, OWN)).toBe(OWN);
    expect(acceptedType(OWN, `${OWN}, application/json;q=0.9`)).toBe(OWN);
    expect(acceptedType(OWN, `${OWN};q=0.5, application/json`)).toBe(JSON_TYPE);
    expect(acceptedType(OWN, `${OWN};q=0, */*`)).toBe(JSON_TYPE);
  });

  it("keeps the type of a document, unless the client takes plain JSON only", () => {
    expect(acceptedType(MANIFEST, undefined)).toBe(MANIFEST);
    expect(acceptedType(MANIFEST, "*/*")).toBe(MANIFEST);
    expect(acceptedType(MANIFEST, "application/json")).toBe(JSON_TYPE);
    expect(acceptedType("application/geo+json", "application/json")).toBe(JSON_TYPE);
  });

  it("leaves alone what is no JSON", () => {
    expect(acceptedType("text/html; charset=utf-8", "application/json")).toBe(
      "text/html; charset=utf-8",
    );
  });

  it("answers one of the two, whatever an Accept field says", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (accept) => {
        expect([JSON_TYPE, OWN]).toContain(acceptedType(OWN, accept));
      }),
    );
  });
});
