import { describe, expect, it } from "vitest";
import { parseFunctionReference } from "../../src/handlers/module-file.ts";

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
