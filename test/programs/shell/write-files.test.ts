import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeFiles } from "../../../src/programs/shell/write-files.ts";
import { makeDirectory } from "../../support/directory.ts";

function text(path: string, content = path, isSecret = false) {
  return { path, content, isSecret };
}

describe("writeFiles", () => {
  it("puts all of them in place, secrets for their owner alone", () => {
    const directory = makeDirectory();
    writeFiles(directory, [text("keys/a.pem", "secret", true), text("b.json")], false);
    expect(readFileSync(join(directory, "b.json"), "utf8")).toBe("b.json");
    expect(statSync(join(directory, "keys/a.pem")).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).toSorted()).toEqual(["b.json", "keys"]);
  });

  it.each([false, true])(
    "leaves everything as it was where one cannot be written, forced: %s",
    (force) => {
      const directory = makeDirectory({ file: "", "b.json": "before" });
      const files = [text("a.json"), ...(force ? [text("b.json")] : []), text("file/c.json")];
      expect(() => writeFiles(directory, files, force)).toThrow('"file/c.json" cannot be written');
      expect(readdirSync(directory).toSorted()).toEqual(["b.json", "file"]);
      expect(readFileSync(join(directory, "b.json"), "utf8")).toBe("before");
    },
  );

  it("puts back by force what it has replaced where another cannot be", () => {
    const directory = makeDirectory({ "b.json": "before", "dir/inside": "" });
    symlinkSync("b.json", join(directory, "link.json"));
    const files = ["a.json", "b.json", "link.json", "dir", "z.json"].map((path) => text(path));
    expect(() => writeFiles(directory, files, true)).toThrow('"dir" cannot be written');
    expect(readdirSync(directory).toSorted()).toEqual(["b.json", "dir", "link.json"]);
    expect(readFileSync(join(directory, "b.json"), "utf8")).toBe("before");
    expect(readlinkSync(join(directory, "link.json"))).toBe("b.json");
    writeFiles(
      directory,
      files.filter(({ path }) => path !== "dir"),
      true,
    );
    expect(readFileSync(join(directory, "b.json"), "utf8")).toBe("b.json");
    expect(readdirSync(directory)).toHaveLength(5);
  });

  it("leaves nothing where one is named twice", () => {
    const directory = makeDirectory();
    expect(() =>
      writeFiles(directory, [text("a.json"), text("b.json"), text("a.json")], false),
    ).toThrow('"a.json" is there already');
    expect(existsSync(join(directory, "a.json"))).toBe(false);
    expect(readdirSync(directory)).toEqual([]);
  });
});
