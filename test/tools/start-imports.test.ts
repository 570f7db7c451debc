/** The imports of the built programs that a start waits for: those that are not loaded late. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { packageOf } from "../support/source-tree.ts";

const DIST = resolve(import.meta.dirname, "../../dist");
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm;
/** In the files of the bundle, which are CommonJS: what is indented is loaded late, or a package's own. */
const REQUIRE = /^(?:(?:const|let|var) \w+ = )?(?:\w+\.__toESM\()?require\("([^"]+)"\)/gm;
/** An entry of the bundle. */
const LOAD = /^(?:export const .* = )?loadBundled\("([^"]+)"\)/gm;

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
    for (const [, name] of text.matchAll(LOAD)) files.add(join(DIST, `bundle/${name}.cjs`));
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

/** Files of the bundle that nothing smaller than a deployment needs, the largest last. */
const LARGE = ["bundle/schemas.cjs", "bundle/configuration.cjs", "bundle/daemon.cjs"];

describe("a start", () => {
  it.each(["agtpd", "agtp", "agtp-openapi"])(
    "reads the command line of %s with a shell alone",
    (name) => {
      const { files, packages } = importedBy(`tools/${name}.js`);
      expect(files.toSorted()).toEqual([
        ...["programs", "rolldown-runtime", "shell"].map((file) => `bundle/${file}.cjs`),
        ...[name, "load-bundle", "programs"].map((file) => `tools/${file}.js`).toSorted(),
      ]);
      expect(packages).toEqual([]);
    },
  );

  it("loads the daemon from few files", () => {
    const { files } = importedBy("bundle/agtpd-daemon.cjs");
    expect(files).toEqual(expect.arrayContaining(LARGE));
    expect(files.length).toBeLessThan(20);
  });

  it.each(["agtp", "control-commands", "keys", "rpc", "mcp"])(
    "loads no schema, configuration or daemon for %s",
    (name) => {
      const { files } = importedBy(`bundle/${name}.cjs`);
      expect(files).toContain("bundle/shell.cjs");
      expect(files.filter((file) => LARGE.includes(file))).toEqual([]);
    },
  );

  it.each(["conformance", "manifest-check"])("loads no configuration or daemon for %s", (name) => {
    const { files } = importedBy(`bundle/${name}.cjs`);
    expect(files.filter((file) => LARGE.includes(file))).toEqual(["bundle/schemas.cjs"]);
  });

  it.each(["agntcy-command", "init", "openapi", "schema-files", "upgrade"])(
    "loads no daemon for %s",
    (name) => {
      const { files } = importedBy(`bundle/${name}.cjs`);
      expect(files).toContain("bundle/configuration.cjs");
      expect(files).not.toContain("bundle/daemon.cjs");
    },
  );

  it.each(["agtpd-daemon", "agtpd-worker", "doctor", "import-command", "openapi", "upgrade"])(
    "loads no package for %s but those that are in the bundle",
    (name) => {
      expect(importedBy(`bundle/${name}.cjs`).packages).toEqual([]);
    },
  );

  it("does not list the members of the process, which Node makes for that: it takes 10 ms", () => {
    const files = ["tools/agtpd.js", "bundle/agtpd-daemon.cjs"].flatMap(
      (entry) => importedBy(entry).files,
    );
    const listing = files.filter((file) =>
      /^import\b.*"(?:node:)?process"|__toESM\(require\("(?:node:)?process"\)/m.test(
        readFileSync(join(DIST, file), "utf8"),
      ),
    );
    expect(listing).toEqual([]);
  });
});
