import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  lookAtPlace,
  type Place,
  placeDirectory,
} from "../../../src/programs/init/place-directory.ts";
import { makeDirectory } from "../../support/directory.ts";

const LAST = "z-first-by-name-last-in-place";

function placeAt(directory: string, written: string): Place {
  return { path: join(directory, written), written, last: LAST };
}

function fill(directory: string): void {
  mkdirSync(join(directory, "below"));
  writeFileSync(join(directory, "below/file"), "1");
  writeFileSync(join(directory, LAST), "2");
  writeFileSync(join(directory, ".hidden"), "3");
}

const NAMES = [".hidden", "below", LAST];

describe("placeDirectory", () => {
  it("makes a directory, and those above it", () => {
    const directory = makeDirectory();
    placeDirectory(placeAt(directory, "a/b/new"), fill);
    expect(readdirSync(join(directory, "a/b")).toSorted()).toEqual(["new"]);
    expect(readdirSync(join(directory, "a/b/new")).toSorted()).toEqual(NAMES);
    expect(statSync(join(directory, "a/b/new")).mode & 0o022).toBe(0);
  });

  it("fills an empty directory that is there, which stays the same directory", () => {
    const directory = makeDirectory();
    const path = join(directory, "there");
    mkdirSync(path);
    chmodSync(path, 0o750);
    const { ino } = statSync(path);
    placeDirectory(placeAt(directory, "there"), fill);
    expect(readdirSync(path).toSorted()).toEqual(NAMES);
    expect([statSync(path).ino, statSync(path).mode & 0o777]).toEqual([ino, 0o750]);
  });

  it.each([
    [
      "a directory with something in it",
      (path: string) => {
        mkdirSync(path);
        writeFileSync(join(path, "mine"), "mine");
      },
      "has something in it",
    ],
    [
      "a directory with something hidden in it",
      (path: string) => {
        mkdirSync(join(path, ".git"), { recursive: true });
      },
      "has something in it",
    ],
    ["a file", (path: string) => writeFileSync(path, "mine"), "is a file"],
    [
      "a link to an empty directory",
      (path: string) => {
        mkdirSync(`${path}-elsewhere`);
        symlinkSync(`${path}-elsewhere`, path);
      },
      "is a symbolic link",
    ],
    ["a link that leads nowhere", (path: string) => symlinkSync("nowhere", path), "symbolic link"],
  ])("leaves %s alone", (_, make, words) => {
    const directory = makeDirectory();
    make(join(directory, "taken"));
    const list = () => readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted();
    const before = list();
    const place = placeAt(directory, "taken");
    expect(() => lookAtPlace(place)).toThrow(words);
    expect(() => placeDirectory(place, fill)).toThrow(words);
    expect(list()).toEqual(before);
  });

  it("leaves nothing behind when filling fails", () => {
    const directory = makeDirectory();
    mkdirSync(join(directory, "there"));
    const failing = (path: string): void => {
      fill(path);
      throw new Error("the disk is full");
    };
    for (const name of ["new", "a/b/new", "there"]) {
      expect(() => placeDirectory(placeAt(directory, name), failing)).toThrow("the disk is full");
    }
    expect(readdirSync(directory, { recursive: true })).toEqual(["there"]);
  });

  it.each(["a file", "a directory with something in it", "a link"])(
    "replaces nothing that comes meanwhile: %s",
    (kind) => {
      const directory = makeDirectory();
      const path = join(directory, "new");
      const meanwhile = (temporary: string): void => {
        fill(temporary);
        if (kind === "a file") writeFileSync(path, "theirs");
        else if (kind === "a link") symlinkSync("/", path);
        else {
          mkdirSync(path);
          writeFileSync(join(path, "theirs"), "theirs");
        }
      };
      expect(() => placeDirectory(placeAt(directory, "new"), meanwhile)).toThrow("cannot be made");
      expect(readdirSync(directory)).toEqual(["new"]);
      if (kind === "a file") expect(readFileSync(path, "utf8")).toBe("theirs");
      if (kind === "a link") expect(lstatSync(path).isSymbolicLink()).toBe(true);
    },
  );

  it("takes back what it moved when somebody else writes to the directory", () => {
    const directory = makeDirectory();
    const path = join(directory, "there");
    mkdirSync(path);
    const meanwhile = (temporary: string): void => {
      fill(temporary);
      writeFileSync(join(path, LAST), "theirs");
    };
    expect(() => placeDirectory(placeAt(directory, "there"), meanwhile)).toThrow("meanwhile");
    expect(readdirSync(path)).toEqual([LAST]);
    expect(readFileSync(join(path, LAST), "utf8")).toBe("theirs");
  });
});
