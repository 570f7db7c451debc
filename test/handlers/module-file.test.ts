import { describe, expect, it } from "vitest";
import {
  createRegisteredFunction,
  parseFunctionReference,
} from "../../src/handlers/module-file.ts";
import { makeCall } from "../support/handler-call.ts";

// formats: `a.b.c` is module `a/b`, export `c`; AGTP-API §12.2
describe("parseFunctionReference", () => {
  it.each([
    ["a.b", "a", "b"],
    ["a.b.c", "a/b", "c"],
    ["endpoints.reservations.book_room", "endpoints/reservations", "book_room"],
    ["_private.$x", "_private", "$x"],
  ])("reads %s as a module and an export", (reference, modulePath, exportName) => {
    expect(parseFunctionReference(reference)).toEqual({ modulePath, exportName });
  });

  it.each([
    "",
    ".",
    "book",
    ".book",
    "a.",
    "a..b",
    "a.b-c",
    "../a.b",
    "a/b.c",
    "a.b c",
    "1a.b",
    "a.b\n",
    "node:fs.readFile",
    "ü.b",
    `${"a.".repeat(300)}b`,
  ])("refuses %j", (reference) => {
    expect(parseFunctionReference(reference)).toBeUndefined();
  });
});

describe("createRegisteredFunction", () => {
  it("answers what a synchronous function returns, without a promise", () => {
    const handler = createRegisteredFunction(() => ({ body: 1 }));
    expect(handler(makeCall())).toEqual({ body: 1 });
  });

  it("makes a native promise of any other thenable", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const thenable = { then: (resolve: (value: unknown) => void) => resolve({ body: 2 }) };
    const result = createRegisteredFunction(() => thenable)(makeCall());
    expect(result).toBeInstanceOf(Promise);
    expect(await result).toEqual({ body: 2 });
  });
});
