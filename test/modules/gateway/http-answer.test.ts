import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Asked,
  acceptedType,
  faultStatus,
  httpStatus,
  writeAnswer,
} from "../../../src/modules/gateway/http-answer.ts";
import { type Response, STATUS_TEXT } from "../../../src/wire/message.ts";

const STYLE = { serverId: 'acme "one"' };

function asked(options: Partial<Asked> = {}): Asked {
  return {
    ...{ method: "POST", accept: undefined, ifNoneMatch: undefined },
    allowed: () => ["GET", "OPTIONS"],
    ...options,
  };
}

function response(status: number, body: object | string, fields = ""): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = text === "" ? "" : "Content-Type: application/vnd.agtp+json\r\n";
  return { status, responseId: "r", fields: `Server-ID: test\r\n${fields}${type}`, body: text };
}

function write(...[status, body, fields]: Parameters<typeof response>) {
  const answer = writeAnswer(response(status, body, fields), asked(), STYLE);
  return { ...answer, fields: Object.fromEntries(answer.fields) };
}

describe("writeAnswer", () => {
  it("keeps every field, twice where it came twice, and none of the connection's", () => {
    const { fields, status } = write(
      200,
      {},
      "X-A: 1\r\nX-A: 2\r\nX-B: a: b\r\nConnection: close\r\n",
    );
    expect(status).toBe(200);
    expect(fields).toMatchObject({
      ...{ "server-id": ["test"], "x-a": ["1", "2"], "x-b": ["a: b"], "x-agtp-status": ["200"] },
    });
    expect(fields).not.toHaveProperty("connection");
  });

  it("adds the fields that are known last", () => {
    const late = { isKnown: true, lines: "Audit-ID: a\r\n" };
    const answer = writeAnswer({ ...response(204, ""), lateFields: late }, asked(), STYLE);
    expect(answer).toMatchObject({ status: 204, body: "" });
    expect(answer.fields.get("audit-id")).toEqual(["a"]);
  });

  it("asks for what is missing, with 401", () => {
    const missing = write(262, { error: { code: "credentials-missing" } });
    expect(missing.status).toBe(401);
    expect(missing.fields["www-authenticate"]).toEqual(['Bearer realm="acme \\"one\\""']);
    const invalid = write(401, { error: { code: "oauth-invalid" } });
    expect(invalid.fields["www-authenticate"]?.[0]).toContain('error="invalid_token"');
    expect(write(262, { error: { code: "scope-required" } }).status).toBe(403);
  });

  it("says when to try again, which methods there are, and where something is", () => {
    expect(write(429, { retry_after_seconds: 1.2 }).fields["retry-after"]).toEqual(["2"]);
    expect(write(459, { error: {} }).fields["allow"]).toEqual(["GET, OPTIONS"]);
    const endpoint = { method: "AUDIT", path: "/reviews" };
    expect(write(263, { endpoint }).fields["location"]).toEqual(["/reviews/audit"]);
    expect(write(263, { endpoint: { method: "PLAN", path: "/" } }).fields["location"]).toEqual([
      "/plan",
    ]);
    const template = { endpoint: { ...endpoint, path: "/reviews/{id}" } };
    expect(write(263, template).fields).not.toHaveProperty("location");
    expect(write(261, { proposal_id: "a b" }).fields["location"]).toEqual([
      "/proposals/a%20b/query",
    ]);
  });

  it.each(["", "no JSON", "[]", "null", '{"error":1}', '{"endpoint":{"path":1}}'])(
    "takes nothing from a refusal that says %j",
    (body) => {
      const { status, fields } = write(263, body);
      expect(status).toBe(201);
      expect(fields).not.toHaveProperty("location");
    },
  );

  it("tags what is read, unless the handler has, and spares whoever has it", () => {
    const read = (fields: string, ifNoneMatch?: string) =>
      writeAnswer(response(200, { a: 1 }, fields), asked({ method: "GET", ifNoneMatch }), STYLE);
    const tag = read("").fields.get("etag")?.[0] ?? "";
    expect(tag).toMatch(/^"[\w.-]+"$/);
    expect(read("", tag)).toMatchObject({ status: 304, body: "" });
    expect(read("", '"other"').status).toBe(200);
    expect(read('ETag: W/"own"\r\n').fields.get("etag")).toEqual(['W/"own"']);
    expect(read('ETag: W/"own"\r\n', '"own"').status).toBe(304);
    expect(read("Cache-Control: max-age=9\r\n").fields.get("cache-control")).toEqual(["max-age=9"]);
    expect(writeAnswer(response(404, {}), asked({ method: "GET" }), STYLE).fields.has("etag")).toBe(
      false,
    );
  });

  it("says another status where HTTP has a word of its own", () => {
    const answer = writeAnswer(response(400, {}), asked(), STYLE, 413);
    expect([answer.status, answer.fields.get("x-agtp-status")]).toEqual([413, ["400"]]);
  });
});

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
