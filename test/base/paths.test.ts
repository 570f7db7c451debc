import { existsSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDirectory as makeDirectoryAt } from "../../src/base/paths.ts";
import { makeDirectory as makeTemporary } from "../support/directory.ts";

describe("making a directory", () => {
  it("makes all that lead to it, and tells the first", () => {
    const root = makeTemporary();
    expect(makeDirectoryAt(join(root, "a", "b", "c"), 0o700)).toBe(join(root, "a"));
    expect(statSync(join(root, "a")).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, "a", "b", "c")).mode & 0o777).toBe(0o700);
  });

  it("makes nothing of one that is there, by itself or by a link", () => {
    const root = makeTemporary();
    symlinkSync(root, join(root, "link"));
    expect(makeDirectoryAt(root)).toBeUndefined();
    expect(makeDirectoryAt(join(root, "link"))).toBeUndefined();
  });

  it("ends where a file is in the way", () => {
    const root = makeTemporary();
    writeFileSync(join(root, "file"), "");
    expect(() => makeDirectoryAt(join(root, "file"))).toThrow("EEXIST");
    expect(() => makeDirectoryAt(join(root, "file", "a", "b"))).toThrow("ENOTDIR");
  });

  it.runIf(existsSync("/proc/self"))("ends where no directory can be made", () => {
    expect(() => makeDirectoryAt("/proc/nowhere/state")).toThrow(/ENOENT|EACCES|EPERM|EROFS/);
  });
});
