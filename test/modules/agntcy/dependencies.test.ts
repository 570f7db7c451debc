/** What agents depend on: found, versioned, chosen, configured, and never in circles. */
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Environment } from "../../../src/base/environment.ts";
import { resolveDependencies } from "../../../src/modules/agntcy/dependencies/dependency-tree.ts";
import { ManifestLibrary } from "../../../src/modules/agntcy/dependencies/manifest-library.ts";
import { deploymentManifest, type ManifestOptions } from "../../support/agntcy.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { type Files, makeDirectory } from "../../support/directory.ts";

function file(name: string, options: ManifestOptions = {}): string {
  return JSON.stringify(deploymentManifest({ name, version: "1.0.0", ...options }));
}

function needs(name: string, more: object = {}): object {
  const { url = `${name}.json`, ...rest } = more as { url?: string };
  return { name, ref: { name, version: "1.0.0", url }, ...rest };
}

/** The tree below `root.json`, and its problems. */
function resolveIn(files: Files, env: Environment = {}, link?: readonly [string, string]) {
  const directory = makeDirectory(files);
  if (link !== undefined) symlinkSync(link[0], join(directory, link[1]));
  const library = new ManifestLibrary({ directory, shelf: join(directory, "shelf") });
  const path = join(directory, "root.json");
  const { manifest, problems } = library.read(path);
  if (manifest === undefined) throw new Error(JSON.stringify(problems));
  const tree = resolveDependencies({ manifest, path }, library, env);
  return {
    ...tree,
    messages: tree.problems.map(({ file: at, key, message }) => `${at} ${key} ${message}`),
  };
}

describe("resolveDependencies", () => {
  it("goes down to the last of them, beside the manifest that names it", () => {
    const { nodes, problems } = resolveIn({
      "root.json": file("root", { dependencies: [needs("a", { url: "sub/a.json" })] }),
      "sub/a.json": file("a", { dependencies: [needs("b", { url: "../b.json" }), needs("c")] }),
      "b.json": file("b"),
      "sub/c.json": file("c"),
    });
    expect(problems).toEqual([]);
    expect(nodes[0]?.dependencies.map(({ name }) => name)).toEqual(["b", "c"]);
    expect(nodes[0]?.option).toMatchObject({ type: "source_code", callable: false });
  });

  it.each([
    ["file://./sub/a.json", () => "file://./sub/a.json"],
    ["file://sub/a.json", () => "file://sub/a.json"],
    ["file:sub/a.json", () => "file:sub/a.json"],
    ["an absolute file URL", (directory: string) => `file://${directory}/sub/a.json`],
  ])("finds %s, which lies in the manifest's directory", (_, write) => {
    const directory = makeDirectory({ "sub/a.json": file("a") });
    const url = write(directory);
    writeFileSync(
      join(directory, "root.json"),
      file("root", { dependencies: [needs("a", { url })] }),
    );
    const library = new ManifestLibrary({ directory });
    const path = join(directory, "root.json");
    const { manifest } = library.read(path);
    if (manifest === undefined) throw new Error("it has problems");
    expect(resolveDependencies({ manifest, path }, library, {}).problems).toEqual([]);
  });

  it("knows a manifest by name and version where no file is named", () => {
    const byName = { name: "a", ref: { name: "a", version: "1.0.0" } };
    const far = needs("a", { url: "https://acme.example/a.json" });
    const files = { "shelf/anything.json": file("a") };
    for (const dependency of [byName, far]) {
      const root = file("root", { dependencies: [dependency] });
      expect(resolveIn({ ...files, "root.json": root }).problems).toEqual([]);
      expect(resolveIn({ "root.json": root }).messages[0]).toContain('no manifest of "a" "1.0.0"');
    }
  });

  it("prints a cycle, and refuses it", () => {
    const { messages } = resolveIn({
      "root.json": file("root", { dependencies: [needs("a")] }),
      "a.json": file("a", { dependencies: [needs("b")] }),
      "b.json": file("b", { dependencies: [needs("a")] }),
    });
    expect(messages).toEqual([
      'b.json /deployment/dependencies/0 "a" is a dependency cycle: a 1.0.0 -> b 1.0.0 -> a 1.0.0',
    ]);
  });

  it("refuses one that needs itself", () => {
    const { messages } = resolveIn({
      "root.json": file("root", { dependencies: [needs("root")] }),
    });
    expect(messages[0]).toContain("root 1.0.0 -> root 1.0.0");
  });

  it("visits a bounded number, however they branch", () => {
    const files: Record<string, string> = {};
    const names = Array.from({ length: 40 }, (_, at) => `n${at}`);
    for (const [at, name] of ["root", ...names].entries()) {
      const next = names[at];
      const twice =
        next === undefined ? [] : [needs(next), { ...needs(next), name: `${next}-again` }];
      files[`${name}.json`] = file(name, { dependencies: twice });
    }
    const begun = cpuMs();
    const { problems } = resolveIn(files);
    expect(problems.length).toBeGreaterThan(0);
    const said = problems.filter(({ message }) => message.includes("one dependency too many"));
    expect(said.length).toBe(1);
    expect(cpuMs() - begun).toBeLessThan(5000);
  });

  it.each<[string, object, ManifestOptions, string]>([
    ["another version", needs("a"), { version: "2.0.0" }, 'has version "2.0.0", expected "1.0.0"'],
    [
      "an option that it lacks",
      needs("a", { deployment_option: "svc" }),
      {},
      'no deployment option is called "svc"',
    ],
    [
      "a variable that nobody sets",
      needs("a"),
      { environment: [{ name: "KEY", desc: "A key.", required: true }] },
      "needs KEY in the environment",
    ],
  ])("refuses %s", (_, dependency, options, expected) => {
    const { messages, nodes } = resolveIn({
      "root.json": file("root", { dependencies: [dependency] }),
      "a.json": file("a", options),
    });
    expect(messages[0]).toContain(expected);
    expect(nodes[0]?.fault).toContain(expected);
  });

  it.each<[string, object, Environment, string?]>([
    ["the manifest", { env_var_values: { values: { KEY: "k" } } }, {}],
    ["the environment", {}, { KEY: "k" }],
    ["the environment under the agent's name", {}, { A_KEY: "k" }],
    ["a default", {}, {}, "k"],
  ])("takes a variable from %s", (_, more, env, defaultValue) => {
    const environment = [{ name: "KEY", desc: "A key.", required: true, defaultValue }];
    const { problems } = resolveIn(
      {
        "root.json": file("root", { dependencies: [needs("a", more)] }),
        "a.json": file("a", { environment }),
      },
      env,
    );
    expect(problems).toEqual([]);
  });

  it.each([
    "../outside.json",
    "/etc/hostname",
    "file:///etc/hostname",
    "file://./../x.json",
    "sub/../../x.json",
  ])("does not look at %s", (url) => {
    const root = file("root", { dependencies: [needs("a", { url })] });
    expect(resolveIn({ "root.json": root }).messages[0]).toContain("leads out");
  });

  it("does not follow a link out of the deployment", () => {
    const root = file("root", { dependencies: [needs("a")] });
    const { messages } = resolveIn({ "root.json": root }, {}, ["/etc/hostname", "a.json"]);
    expect(messages[0]).toContain("leads out of the deployment directory");
  });
});
