import { describe, expect, it } from "vitest";
import { faultStatus, httpStatus } from "../../../src/modules/gateway/http-answer.ts";
import { STATUS_TEXT } from "../../../src/wire/message.ts";

// formats "The HTTP sidecar": AGTP status -> HTTP
describe("httpStatus", () => {
  it.each([
    [261, 202],
    [262, 403],
    [263, 201],
    [455, 403],
    [456, 403],
    [457, 403],
    [458, 409],
    [459, 405],
    [460, 400],
    [461, 409],
    [462, 402],
    [463, 422],
    [464, 404],
    [550, 502],
    [551, 502],
  ])("says %i as %i", (status, expected) => {
    expect(httpStatus(status)).toBe(expected);
  });

  it("keeps every other status, which HTTP has under the same number", () => {
    const own = Object.keys(STATUS_TEXT).map(Number);
    const kept = own.filter((status) => httpStatus(status) === status);
    const http = [200, 202, 204, 301, 400, 401, 403, 404, 405, 408, 409, 410, 422, 429];
    expect(kept).toEqual([...http, 500, 501, 503]);
  });

  it("asks a caller without credentials for them", () => {
    expect(httpStatus(262, "credentials-missing")).toBe(401);
    expect(httpStatus(262, "scope-required")).toBe(403);
    expect(httpStatus(455, "credentials-missing")).toBe(403);
  });
});

describe("faultStatus", () => {
  it.each([
    ["request-line-too-long", 414],
    ["header-too-large", 431],
    ["body-too-large", 413],
    ["request-timeout", 408],
    ["invalid-framing", 400],
    ["invalid-request-line", 400],
    ["invalid-wire-format", 400],
  ] as const)("has HTTP's own word for %s", (code, status) => {
    expect(faultStatus(code)).toBe(status);
  });
});
