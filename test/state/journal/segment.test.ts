/** A segment that is closed, whose descriptor others may have by then. */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ActiveSegment } from "../../../src/state/journal/segment.ts";
import { makeDirectory } from "../../support/directory.ts";

const RECORD = { auditId: "a".repeat(64), jws: "e30.e30." };

/** Files that have the lowest free descriptors, one of them that of what was closed last. */
function openOthers(
  directory: string,
): readonly { readonly path: string; readonly file: number }[] {
  const others = Array.from({ length: 8 }, (_, index) => {
    const path = join(directory, `other-${index}`);
    return { path, file: openSync(path, "a") };
  });
  onTestFinished(() => {
    for (const { file } of others) closeSync(file);
  });
  return others;
}

describe("a segment that is closed", () => {
  it("writes nothing into what has its descriptor by then", async () => {
    const directory = makeDirectory();
    const segment = new ActiveSegment(directory, 1);
    segment.append([RECORD], []);
    await segment.close();
    const others = openOthers(directory);
    expect(() => segment.append([RECORD], [])).toThrow("is closed");
    expect(() => segment.probe()).toThrow("is closed");
    for (const { path } of others) expect(readFileSync(path, "utf8")).toBe("");
    expect(readFileSync(join(directory, "00000001.jws"), "utf8")).toBe(`${RECORD.jws}\n`);
  });

  it("is closed once, however often that is asked for", async () => {
    const directory = makeDirectory();
    const segment = new ActiveSegment(directory, 1);
    await Promise.all([segment.close(), segment.close()]);
    const others = openOthers(directory);
    await segment.close();
    for (const { file } of others) expect(writeSync(file, "x")).toBe(1);
  });
});
