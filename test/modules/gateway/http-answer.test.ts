import { describe, expect, it } from "vitest";
import { type Asked, writeAnswer } from "../../../src/modules/gateway/http-answer.ts";
import type { Response } from "../../../src/wire/message.ts";

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
