import { describe, expect, it } from "vitest";
import {
  matchResponse,
  parseExpectedResponse,
} from "../../../src/programs/conformance/response-pattern.ts";

const ACTUAL = {
  status: 200,
  headers: new Map([
    ["server-id", "x"],
    ["response-id", "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42"],
  ]),
  body: '{"a":1,"list":[1,2],"at":"2026-01-01T00:00:00Z","id":"ff00"}',
};
const HEAD = "AGTP/1.0 200 OK\nServer-ID: x\nResponse-ID: {uuid}";
const BODY = '{"a":1,"list":[1,2],"at":"{date}","id":"{hex}"}';

function match(text: string, options?: Parameters<typeof matchResponse>[2]): readonly string[] {
  const { response, fault } = parseExpectedResponse(text.split("\n"));
  if (response === undefined) throw new Error(fault);
  return matchResponse(response, ACTUAL, options);
}

describe("matchResponse", () => {
  it("finds nothing wrong with the expected response, in any order and spacing", () => {
    expect(match(`${HEAD}\n\n${BODY}`)).toEqual([]);
    expect(match(`AGTP/1.0 200\nresponse-id: {uuid}\nSERVER-ID: {any}\n\n{any}`)).toEqual([]);
    expect(match(`${HEAD}\n\n{ "id": "{hex}", "at": "{any}", "a": 1, "list": "{any}" }`)).toEqual(
      [],
    );
  });

  it.each([
    ["the status", HEAD.replace("200", "404"), BODY, "status: expected 404, got 200"],
    ["a header value", HEAD.replace(": x", ": y"), BODY, "header server-id: expected y, got x"],
    ["a missing header", `${HEAD}\nTask-ID: t`, BODY, "header task-id: missing"],
    [
      "an unlisted header",
      "AGTP/1.0 200 OK\nResponse-ID: {uuid}",
      BODY,
      "header server-id: not expected, got x",
    ],
    ["a value", HEAD, BODY.replace('"a":1', '"a":2'), "body/a: expected 2, got 1"],
    ["a type", HEAD, BODY.replace('"a":1', '"a":"1"'), 'body/a: expected "1", got 1'],
    ["a missing member", HEAD, BODY.replace("{", '{"b":1,'), "body/b: missing"],
    ["an unlisted member", HEAD, BODY.replace('"a":1,', ""), "body/a: not expected"],
    ["an element", HEAD, BODY.replace("[1,2]", "[1,3]"), "body/list/1: expected 3, got 2"],
    ["a length", HEAD, BODY.replace("[1,2]", "[1]"), "body/list: expected 1 elements, got 2"],
    [
      "a placeholder",
      HEAD,
      BODY.replace("{hex}", "{uuid}"),
      'body/id: expected "{uuid}", got "ff00"',
    ],
  ])("says where %s differs", (_, head, body, mismatch) => {
    expect(match(`${head}\n\n${body}`)).toEqual([mismatch]);
  });

  it("stands {more} for whatever else there is", () => {
    expect(match(`${HEAD}\n\n{"a":1,"{more}":0}`)).toEqual([]);
    expect(match(`${HEAD}\n\n{"list":[1,"{more}"],"{more}":0}`)).toEqual([]);
    expect(match(`${HEAD}\n\n{"list":[1,2,3,"{more}"],"{more}":0}`)).toHaveLength(1);
  });

  it("ignores unlisted headers when it is told to", () => {
    expect(match(`AGTP/1.0 200 OK\n\n${BODY}`, { unlistedHeaders: "ignore" })).toEqual([]);
  });

  it("compares a text body as text", () => {
    expect(match(`${HEAD}\n\n{"a":1,{any}}`)).toEqual([]);
    expect(match(`${HEAD}\n\nnothing`)).toHaveLength(1);
    expect(match(HEAD)).toHaveLength(1);
  });

  it("takes characters that mean something in expressions for themselves", () => {
    const { response } = parseExpectedResponse(["AGTP/1.0 200 OK", "", "a.c"]);
    if (response === undefined) throw new Error("no response");
    const actual = { status: 200, headers: new Map(), body: "abc" };
    expect(matchResponse(response, actual)).toHaveLength(1);
    expect(matchResponse(response, { ...actual, body: "a.c" })).toEqual([]);
  });
});
