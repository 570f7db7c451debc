import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readBoundedBytes, readBoundedFile } from "../../src/base/bounded-file.ts";
import { makeDirectory } from "../support/directory.ts";

describe("readBoundedFile", () => {
  it("reads UTF-8, without a byte order mark, up to the bound", () => {
    const path = join(makeDirectory(), "a.txt");
    writeFileSync(path, "\ufeffgrüezi");
    expect(readBoundedFile(path, 10)).toEqual({ text: "grüezi" });
    expect(readBoundedFile(path, 9)).toEqual({ fault: "must be at most 9 bytes long, has 10" });
  });

  it("does not wait for somebody to write into a FIFO", () => {
    const path = join(makeDirectory(), "fifo");
    execFileSync("mkfifo", [path]);
    expect(readBoundedFile(path, 10)).toEqual({ fault: "must be a regular file" });
  });

  it.skipIf(process.platform !== "linux")(
    "reads no further than the bound where a file says no size",
    () => {
      expect(readBoundedFile("/proc/self/maps", 10)).toEqual({
        fault: "must be at most 10 bytes long, has more",
      });
      // Without end, as far as anybody would read it.
      expect(readBoundedBytes("/proc/self/pagemap", 100_000).fault).toMatch(/100000 bytes/);
      expect(readBoundedFile("/proc/self/comm", 100).text).toMatch(/\n$/);
    },
  );

  it("says what is wrong with a path", () => {
    const directory = makeDirectory();
    writeFileSync(join(directory, "file"), "");
    expect(readBoundedFile(join(directory, "none"), 10).fault).toBe("does not exist");
    expect(readBoundedFile(join(directory, "file", "none"), 10).fault).toBe("does not exist");
    expect(readBoundedFile(directory, 10).fault).toBe("must be a file, is a directory");
    expect(readBoundedFile("a\0b", 10).fault).toMatch(/^cannot be read/);
    expect(readBoundedFile("a".repeat(10_000), 10).fault).toBe("cannot be read (ENAMETOOLONG)");
  });
});

describe("texts that are read one after the other", () => {
  it("share nothing, however long they are", () => {
    const directory = makeDirectory();
    const texts = [
      "long ".repeat(40_000),
      "short",
      "",
      "middling ".repeat(5_000),
      "é".repeat(40_000),
    ];
    const read = texts.map((text, index) => {
      const path = join(directory, `${index}.txt`);
      writeFileSync(path, text);
      return readBoundedFile(path, 1_000_000).text;
    });
    expect(read).toEqual(texts);
  });
});
