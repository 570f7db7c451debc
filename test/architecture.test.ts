/** How the sources are put together: which folder knows which, and what no file may do. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { VERSION } from "../src/base/version.ts";
import { GATE_NAMES } from "../src/dispatch/gates/gate.ts";
import { packageOf, ROOT, readModules, type SourceModule } from "./support/source-tree.ts";

const sources = readModules("src");
const tools = readModules("tools");
const byFile = new Map(sources.map((module) => [module.file, module]));

/** The folders of src: each imports those above it, and none below. */
const LAYERS = [
  ...["base", "schema", "wire", "catalog", "identity", "endpoint", "state", "handlers"],
  ...["dispatch", "runs", "client", "openapi", "modules", "server", "app", "programs"],
];
/** What others install imports from here. */
const PUBLIC = "src/index.ts";

/** Imports between two of the sources that a test looks for. */
function importsOf(isMeant: (from: SourceModule, to: SourceModule) => boolean): readonly string[] {
  return sources.flatMap((from) =>
    from.imports.flatMap(({ file }) => {
      const to = file === undefined ? undefined : byFile.get(file);
      return to !== undefined && isMeant(from, to) ? [`${from.file} -> ${to.file}`] : [];
    }),
  );
}

/** The module that a file of src/modules belongs to. */
function moduleOf({ file }: SourceModule): string | undefined {
  return file.split("/")[2];
}

/** Modules that a browser loads: they reach no others, and only one of them names a package. */
const PAGE = "src/modules/console/page/";
const PAGE_ENTRY = `${PAGE}main.ts`;
const PAGE_ANSWERS = "src/modules/console/answers.ts";

/** Where a module may open or speak to a socket. */
const SOCKET_FOLDERS = ["server", "client", "tools"];
const SOCKET_MODULES = /^(?:node:)?(?:net|tls|http|https|http2|dgram|quic)$/;
/** Of node:net, what only looks at text. */
const TEXT_ONLY = ["isIP", "isIPv4", "isIPv6", "BlockList", "LookupFunction"];

describe("the folders of src", () => {
  it("are the layers, and nothing stands beside them", () => {
    const folders = new Set(sources.map(({ folder }) => folder));
    expect([...folders].sort()).toEqual(["", ...LAYERS].sort());
    const beside = sources.filter(({ folder, file }) => folder === "" && file !== PUBLIC);
    expect(beside.map(({ file }) => file)).toEqual([]);
  });

  it("have modules in them, and beside those only what the console's pages are made of", () => {
    const options = { recursive: true, withFileTypes: true, encoding: "utf8" } as const;
    const files = readdirSync(join(ROOT, "src"), options).filter((entry) => entry.isFile());
    const others = files.filter(({ name }) => extname(name) !== ".ts");
    const page = join(ROOT, PAGE);
    expect(others.filter(({ parentPath }) => !join(parentPath, "/").startsWith(page))).toEqual([]);
    const kinds = new Set(others.map(({ name }) => extname(name)));
    expect([...kinds].toSorted()).toEqual([".css", ".html", ".json", ".svg"]);
  });

  it("import only what lies above them in the list", () => {
    const upward = importsOf((from, to) => {
      return from.folder !== "" && LAYERS.indexOf(to.folder) > LAYERS.indexOf(from.folder);
    });
    expect(upward).toEqual([]);
  });

  it("hold modules that know nothing of each other", () => {
    const between = importsOf((from, to) => {
      const isModule = from.folder === "modules" && to.folder === "modules";
      return isModule && moduleOf(from) !== moduleOf(to);
    });
    expect(between).toEqual([]);
  });

  it("keep the modules of the console's page apart from those of the daemon", () => {
    const isPage = ({ file }: SourceModule) => file.startsWith(PAGE);
    const isAnswers = ({ file }: SourceModule) => file === PAGE_ANSWERS;
    expect(importsOf((from, to) => isPage(from) !== isPage(to) && !isAnswers(to))).toEqual([]);
    // Both sides know what is answered, of which nothing is left for a browser to load.
    const answers = sources.find(isAnswers);
    expect(answers?.imports).toEqual([]);
    expect(answers?.text).not.toMatch(/^(?:export )?(?:async )?(?:const|let|class|function) /m);
    const packages = sources.filter(isPage).flatMap(({ file, imports }) => {
      return imports.filter((one) => one.file === undefined).map(() => file);
    });
    expect([...new Set(packages)]).toEqual([`${PAGE}preact.ts`]);
  });

  it("leave the sockets of the server to the daemon", () => {
    const sockets = importsOf((from, to) => from.folder === "programs" && to.folder === "server");
    expect(sockets).toEqual([]);
  });

  it("import files that exist, by their own extension", () => {
    const missing = [...sources, ...tools].flatMap(({ file, imports }) =>
      imports
        .filter((one) => one.file !== undefined && !existsSync(join(ROOT, one.file)))
        .map(({ specifier }) => `${file} -> ${specifier}`),
    );
    expect(missing).toEqual([]);
  });

  it("have no cycle, not even of types", () => {
    expect(findCycle()).toBeUndefined();
  });

  it("leave sockets to the server, the client and, for HTTP, the handlers", () => {
    const offenders = sources.flatMap(({ file, folder, imports }) =>
      imports
        .filter(({ specifier }) => SOCKET_MODULES.test(specifier) || specifier === "undici")
        .filter(({ specifier, names }) => {
          if (specifier === "undici") return folder !== "handlers";
          const isText = names.length > 0 && names.every((name) => TEXT_ONLY.includes(name));
          return !isText && !SOCKET_FOLDERS.includes(folder);
        })
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(offenders).toEqual([]);
  });

  it("follow no call through its awaits, but where traces do", () => {
    const followers = sources
      .filter(({ imports }) => imports.some(({ specifier }) => specifier === "node:async_hooks"))
      .map(({ file }) => file);
    const others = followers.filter((file) => !file.startsWith("src/modules/tracing/"));
    expect(others).toEqual([]);
  });

  it("connect to others' HTTP servers by the options that look at addresses", () => {
    const offenders = sources.flatMap(({ file, text }) =>
      [...text.matchAll(/new (?:undici\.)?(?:Agent|Pool)\(([^;]*);/g)]
        .filter(([, given = ""]) => !given.includes("connectionOptions("))
        .map(([call]) => `${file}: ${call}`),
    );
    expect(offenders).toEqual([]);
  });

  it("construct a deployment in one place", () => {
    const builders = sources
      .filter(({ text }) => /\bcreatingDispatcher\(/.test(text))
      .map(({ file }) => file);
    expect(builders).toEqual(["src/app/assemble.ts", "src/dispatch/dispatcher.ts"]);
  });
});

describe("every module", () => {
  it("joins signals with a Deadline", () => {
    const offenders = [...sources, ...tools].filter(({ text }) =>
      text.includes("AbortSignal.any("),
    );
    expect(offenders.map(({ file }) => file)).toEqual([]);
  });

  it.each(["utils", "helpers", "common", "types", "manager", "service"])(
    "has a better name than %s",
    (word) => {
      const names = [...sources, ...tools].map(({ file }) => basename(file, ".ts"));
      expect(names.filter((name) => name === word || name.endsWith(`-${word}`))).toEqual(
        // "external service" is the draft's own word for that binding.
        word === "service" ? ["external-service"] : [],
      );
    },
  );

  it("is named in kebab-case", () => {
    for (const { file } of [...sources, ...tools]) {
      expect(basename(file, ".ts")).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    }
  });

  it("leaves the gates to the dispatcher, which lists each once and in order", () => {
    const isGate = (file: string | undefined) => /\/gates\/\d/.test(file ?? "");
    const takers = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ file: gate, names }) => isGate(gate) && names.some((one) => /Gate$/.test(one)))
        .map(() => file),
    );
    expect([...new Set(takers)]).toEqual(["src/dispatch/dispatcher.ts"]);
    const between = importsOf((from, to) => isGate(from.file) && isGate(to.file));
    expect(between).toEqual([]);
    const { text = "" } = byFile.get("src/dispatch/dispatcher.ts") ?? {};
    const listed = [...text.matchAll(/^ {4}"?[\w-]+"?: \w+Gate\b.*\/\/ +(\d\d)\b/gm)].map(
      ([, at]) => at,
    );
    const inOrder = listed.map((_, position) => String(position).padStart(2, "0"));
    expect(listed).toEqual(inOrder);
    expect(listed).toHaveLength(GATE_NAMES.length);
    const names = [...text.matchAll(/^ {4}"?([\w-]+)"?: \w+Gate\b.*\/\/ +\d\d\b/gm)];
    expect(names.map(([, name]) => name)).toEqual(GATE_NAMES);
  });

  it("has each gate in a file of its own, with its number and its name", () => {
    const { text = "", imports = [] } = byFile.get("src/dispatch/dispatcher.ts") ?? {};
    const listed = [...text.matchAll(/^ {4}"?([\w-]+)"?: (\w+Gate)\b.*\/\/ +(\d\d)\b/gm)];
    const expected = listed.map(([, name, , at]) => `src/dispatch/gates/${at}-${name}.ts`);
    const gateFiles = sources.map(({ file }) => file).filter((file) => /\/gates\/\d/.test(file));
    expect(gateFiles.toSorted()).toEqual(expected);
    for (const [index, [, , gate = "", at]] of listed.entries()) {
      const file = expected[index];
      expect(imports.find((one) => one.file === file)?.names).toContain(gate);
      // Each says of itself, by its number, what it asks.
      expect(byFile.get(file ?? "")?.text).toMatch(new RegExp(`^/\\*\\*\n \\* Gate ${at}\\. `));
    }
  });

  it("makes routes by createRoute, and other calls by CallContext.changed", () => {
    // The members of a route that no definition has.
    const literals = sources.filter(({ text }) => /\bshape: inputShape\(/.test(text));
    expect(literals.map(({ file }) => file)).toEqual([]);
    const proxies = sources.filter(({ text }) => /new Proxy\(call\b/.test(text));
    expect(proxies.map(({ file }) => file)).toEqual([]);
  });

  it("opens with a paragraph about itself", () => {
    const silent = [...sources, ...tools].filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text));
    expect(silent.map(({ file }) => file)).toEqual([]);
  });

  it("does nothing when it is imported", () => {
    // A thread is started with its module, and so is the console's page.
    const isEntry = (file: string) => file.endsWith("-thread.ts") || file === PAGE_ENTRY;
    const modules = sources.filter(({ file }) => !isEntry(file));
    const active = modules.flatMap(({ file, syntax }) =>
      syntax.statements
        .filter((statement) => ts.isExpressionStatement(statement) || ts.isIfStatement(statement))
        .map((statement) => `${file}: ${statement.getText()}`),
    );
    expect(active).toEqual([]);
  });

  it("exports by name, and has neither enums nor namespaces", () => {
    const offenders = [...sources, ...tools].filter(({ syntax }) =>
      syntax.statements.some(
        (statement) =>
          ts.isExportAssignment(statement) ||
          ts.isEnumDeclaration(statement) ||
          ts.isModuleDeclaration(statement) ||
          hasModifier(statement, ts.SyntaxKind.DefaultKeyword),
      ),
    );
    expect(offenders.map(({ file }) => file)).toEqual([]);
  });

  it("says what each function is for that others may use", () => {
    const silent = sources.flatMap(({ file, syntax }) =>
      syntax.statements
        .filter(
          (statement) =>
            ts.isFunctionDeclaration(statement) &&
            hasModifier(statement, ts.SyntaxKind.ExportKeyword) &&
            ts.getJSDocCommentsAndTags(statement).length === 0,
        )
        .map((statement) => `${file}: ${statement.getText().split("\n")[0]}`),
    );
    expect(silent).toEqual([]);
  });

  it("takes the environment as an argument", () => {
    const readers = [...sources, ...tools].filter(({ syntax }) => readsEnvironment(syntax));
    for (const { file } of readers) expect(file).toMatch(/^tools\//);
  });

  it("leaves nothing to be done", () => {
    const left = [...sources, ...tools].filter(({ text }) =>
      /\b(?:TODO|FIXME|XXX|HACK)\b/.test(text),
    );
    expect(left.map(({ file }) => file)).toEqual([]);
  });
});

describe("the programs in tools", () => {
  it("are thin", () => {
    const lengths = tools.map(
      ({ file, text }) => [file, text.trimEnd().split("\n").length] as const,
    );
    expect(lengths.filter(([, length]) => length > 150)).toEqual([]);
  });
});

describe("package.json", () => {
  const manifest = readJson("package.json");
  const lock = readJson("package-lock.json");

  it("pins every dependency exactly", () => {
    const pins = { ...manifest["dependencies"], ...manifest["devDependencies"] };
    for (const pin of Object.values(pins))
      expect(pin).toMatch(/^(?:npm:[a-z-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/);
  });

  it("has the version that the programs say, and that the lockfile has", () => {
    expect(manifest["version"]).toBe(VERSION);
    expect(lock["version"]).toBe(VERSION);
  });

  it("depends on nothing that runs scripts when it is installed", () => {
    const scripted = Object.entries(lock["packages"] ?? {}).filter(
      ([, entry]) => (entry as { hasInstallScript?: boolean }).hasInstallScript === true,
    );
    expect(scripted.map(([name]) => name)).toEqual([]);
  });

  it("has every package that src imports among its dependencies", () => {
    const loaded = /\b(?:import|require(?:\.resolve)?)\(\s*"([^"./][^"]*)"/g;
    const imported = sources.flatMap(({ text, imports }) => [
      ...imports.filter(({ file }) => file === undefined).map(({ specifier }) => specifier),
      ...[...text.matchAll(loaded)].map(([, specifier = ""]) => specifier),
    ]);
    const packages = new Set(imported.filter((name) => !name.startsWith("node:")).map(packageOf));
    const dependencies = Object.keys(manifest["dependencies"] ?? {});
    for (const name of packages) expect([...dependencies, "agtpd"]).toContain(name);
  });

  it("maps its programs to files that the build makes", () => {
    for (const target of Object.values(manifest["bin"] ?? {})) {
      const source = String(target)
        .replace(/^(?:\.\/)?dist\//, "")
        .replace(/\.js$/, ".ts");
      expect(existsSync(join(ROOT, source)), source).toBe(true);
    }
  });
});

function readJson(file: string): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
}

function hasModifier(statement: ts.Statement, kind: ts.SyntaxKind): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some((modifier) => modifier.kind === kind)
  );
}

function readsEnvironment(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node) && node.getText() === "process.env") return true;
  return ts.forEachChild(node, (child) => readsEnvironment(child) || undefined) ?? false;
}

/** The files of the first cycle, in order. */
function findCycle(): readonly string[] | undefined {
  const done = new Set<SourceModule>();
  const trail: SourceModule[] = [];
  const visit = (module: SourceModule): readonly string[] | undefined => {
    const seenAt = trail.indexOf(module);
    if (seenAt !== -1) return [...trail.slice(seenAt), module].map(({ file }) => file);
    if (done.has(module)) return undefined;
    trail.push(module);
    for (const { file } of module.imports) {
      const target = file === undefined ? undefined : byFile.get(file);
      const cycle = target && visit(target);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    done.add(module);
    return undefined;
  };
  for (const module of sources) {
    const cycle = visit(module);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
