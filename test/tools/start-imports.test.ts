/** The imports of the built programs that a start waits for: those that are not loaded late. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const DIST = resolve(import.meta.dirname, "../../dist");
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm;
/** In the files of the bundle, which are CommonJS: what is indented is loaded late, or a package's own. */
const REQUIRE = /^(?:(?:const|let|var) \w+ = )?(?:\w+\.__toESM\()?require\("([^"]+)"\)/gm;
/** An entry of the bundle, and the file that is loaded before it. */
const LOAD = /^(?:export const .* = )?loadDaemon\("([^"]+)"\)/gm;

interface Imported {
  /** Relative to the built files. */
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** Follows the static imports of a built file. */
function importedBy(entry: string): Imported {
  const files = new Set([join(DIST, entry)]);
  const packages = new Set<string>();
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    for (const [, entry] of text.matchAll(LOAD)) {
      for (const name of ["daemon", entry]) files.add(join(DIST, `daemon/${name}.cjs`));
    }
    for (const [, from = "", bare = from] of text.matchAll(
      file.endsWith(".cjs") ? REQUIRE : IMPORT,
    )) {
      if (bare.startsWith(".")) files.add(join(dirname(file), bare));
      else if (!bare.startsWith("node:")) packages.add(packageOf(bare));
    }
  }
  return {
    files: [...files].map((file) => relative(DIST, file)),
    packages: [...packages].toSorted(),
  };
}

function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

describe("a start", () => {
  it("reads the command line without the daemon and its packages", () => {
    const { files, packages } = importedBy("tools/agtpd.js");
    expect(files).toContain("src/programs/shell/run-program.js");
    expect(files.filter((file) => /^daemon\/|^src\/(?:app|dispatch|modules)\//.test(file))).toEqual(
      [],
    );
    expect(packages).toEqual(["commander"]);
  });

  it("loads the daemon from few files", () => {
    const { files } = importedBy("tools/agtpd-daemon.js");
    expect(files).toContain("daemon/daemon.cjs");
    expect(files).toContain("daemon/agtpd-daemon.cjs");
    expect(files.length).toBeLessThan(40);
    expect(files.filter((file) => /^src\/(?:app|dispatch|modules|state)\//.test(file))).toEqual([]);
  });

  it.each(["tools/agtpd-daemon.js", "tools/agtpd-worker.js"])(
    "loads no package for %s but those that are in its files",
    (entry) => {
      expect(importedBy(entry).packages).toEqual([]);
    },
  );

  it("does not list the members of the process, which Node makes for that: it takes 10 ms", () => {
    const { files } = importedBy("tools/agtpd-daemon.js");
    const listing = files.filter((file) =>
      /^import\b.*"(?:node:)?process"/m.test(readFileSync(join(DIST, file), "utf8")),
    );
    expect(listing).toEqual([]);
  });
});

describe("agtp-keys", () => {
  it("makes and verifies without what only a deployment needs", () => {
    const { files, packages } = importedBy("tools/agtp-keys.js");
    expect(files).toContain("src/programs/keys/genesis-command.js");
    expect(files.filter((file) => /^src\/(?:app|dispatch|modules)\//.test(file))).toEqual([]);
    expect(files).not.toContain("src/state/open-store.js");
    expect(packages).not.toContain("ajv");
  });
});
