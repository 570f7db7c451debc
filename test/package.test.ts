/** The packed release: what is in it, what it drags in, and what others compile against. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { satisfies } from "semver";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { shrinkLock } from "../tools/package/shrink-lock.ts";
import { startProgram } from "./support/agtpd.ts";
import { configFile, makeDeployment } from "./support/deployment.ts";
import { createDirectory, makeDirectory } from "./support/directory.ts";

const ROOT = resolve(import.meta.dirname, "..");
/** The oldest Node that the package says it runs on. */
const OLDEST = "20.19.0";

const lockText = readFileSync(join(ROOT, "package-lock.json"), "utf8");

interface Entry {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
}

const released = JSON.parse(shrinkLock(lockText)).packages as Readonly<Record<string, Entry>>;

const { bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly bin: Readonly<Record<string, string>>;
};

/** Names of the files that `npm pack` takes. */
function packedFiles(): readonly string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const report = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const listed: unknown = JSON.parse(report);
  // Newer versions of npm report by name.
  const [pack] = Object.values(listed as object) as {
    readonly files: { readonly path: string }[];
  }[];
  return pack?.files.map(({ path }) => path) ?? [];
}

/** Where Node finds a dependency of the package at `path`. */
function findDependency(path: string, name: string): Entry | undefined {
  for (
    let at = path;
    ;
    at = at.includes("/node_modules/")
      ? at.replace(/\/node_modules\/(?!.*\/node_modules\/).*$/, "")
      : ""
  ) {
    const entry = released[at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`];
    if (entry !== undefined || at === "") return entry;
  }
}

/** In a module, and in a file of the bundle, which is CommonJS. */
const IMPORT = /(?:from|import\()\s*"(\.[^"]+)"/g;
const REQUIRE = /\brequire\("(\.[^"]+\.cjs)"\)/g;
/** In the bundle: a file that is run on a thread of its own, and the module beside which it lies. */
const BESIDE = /"(\.\/[^"]+)", new URL\("([^"]+)", bundleAddress\)/g;
/** In the bundle: a file or a folder that comes with the product. */
const SHIPPED = /\bshippedPath\((?!name)["'`]?([^"'`)]*)/g;

describe("the dependencies of the release", () => {
  it("run on the oldest Node that it is for", () => {
    const unfit = Object.entries(released).filter(
      ([, { engines }]) => engines?.node !== undefined && !satisfies(OLDEST, engines.node),
    );
    expect(unfit.map(([path]) => path)).toEqual([]);
  });

  it("satisfy each other without overrides, which hold for nobody who installs it", () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(manifest.overrides).toBeUndefined();
    const unmet = Object.entries(released).flatMap(([path, { dependencies = {} }]) =>
      Object.entries(dependencies)
        .filter(([name, range]) => !satisfies(findDependency(path, name)?.version ?? "", range))
        .map(([name, range]) => `${path}: ${name}@${range}`),
    );
    expect(unmet).toEqual([]);
  });

  it("need neither developers' packages nor scripts", () => {
    expect(Object.keys(released)).not.toContain("node_modules/vitest");
    expect(Object.values(released).some(({ hasInstallScript }) => hasInstallScript)).toBe(false);
    expect(shrinkLock(lockText)).not.toContain("devDependencies");
  });
});

describe("the packed release", () => {
  const files = packedFiles();
  const declarations = files.filter((file) => file.endsWith(".d.ts"));

  it("has every program that it promises, and what they import", () => {
    expect(files).toEqual(expect.arrayContaining([...Object.values(bin)]));
    const known = new Set(files);
    const missing = files
      .filter((file) => /\.[cm]?js$/.test(file))
      .flatMap((file) =>
        [
          ...readFileSync(join(ROOT, file), "utf8").matchAll(
            file.endsWith(".cjs") ? REQUIRE : IMPORT,
          ),
        ]
          .map(([, target = ""]) => join(dirname(file), target))
          .filter((target) => !known.has(target)),
      );
    expect(missing).toEqual([]);
  });

  it("has the files that are run on threads of their own", () => {
    const started = files
      .filter((file) => file.endsWith(".cjs"))
      .flatMap((file) =>
        [...readFileSync(join(ROOT, file), "utf8").matchAll(BESIDE)].map(
          ([, name = "", module = ""]) => join(dirname(file), dirname(module), name),
        ),
      );
    expect(started).toContain("dist/src/state/records/sealing-thread.js");
    expect(files).toEqual(expect.arrayContaining(started));
  });

  it("has the files that the product asks for by their names", () => {
    const asked = files
      .filter((file) => file.endsWith(".cjs"))
      .flatMap((file) => [...readFileSync(join(ROOT, file), "utf8").matchAll(SHIPPED)])
      .map(([, name = ""]) => name);
    expect(asked).toContain("catalog/methods.json");
    const missing = asked.filter(
      (name) => !files.some((file) => file === name || file.startsWith(`${name}/`)),
    );
    expect(missing).toEqual([]);
  });

  it("serves all that a daemon serves from its files and its dependencies alone", async () => {
    const installed = makeDirectory();
    for (const file of files) {
      mkdirSync(dirname(join(installed, file)), { recursive: true });
      cpSync(join(ROOT, file), join(installed, file));
    }
    for (const path of Object.keys(released).filter((key) =>
      /^node_modules\/[^/]+(\/[^/]+)?$/.test(key),
    )) {
      mkdirSync(dirname(join(installed, path)), { recursive: true });
      symlinkSync(join(ROOT, path), join(installed, path));
    }
    const anyPort = { enabled: true, port: 0 };
    const config = configFile({
      ...{ gateway: anyPort, mcp: { enabled: true, anonymous: true }, console: anyPort },
      ...{ metrics: anyPort, tracing: { enabled: true } },
    });
    const { configPath } = makeDeployment({ "agtp-server.toml": config });
    const program = join(installed, "dist/tools/agtpd.js");
    const { ready } = await startProgram(configPath, { program });
    const ask = async (port: string, path: string) => {
      const answer = await fetch(`http://127.0.0.1:${ready[port]}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    expect(await ask("metrics_port", "/metrics")).toMatchObject({ status: 200 });
    expect(await ask("gateway_port", "/openapi.json")).toMatchObject({ status: 200 });
    const page = await ask("console_port", "/");
    const named = [...page.text.matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)];
    expect(named).toHaveLength(2);
    for (const [, path = ""] of named)
      expect([path, (await ask("console_port", path)).status]).toEqual([path, 200]);
  });

  it("has the licences of the packages whose code is in the bundle", () => {
    expect(files).toContain("dist/bundle/LICENSES.txt");
    const licenses = readFileSync(join(ROOT, "dist/bundle/LICENSES.txt"), "utf8");
    for (const name of ["ajv", "commander", "pino", "semver"])
      expect(licenses).toMatch(`\n${name}\n\n`);
  });

  it("has nothing that an example wrote where it was tried", () => {
    expect(files).toContain("examples/openwop/workflows/front-desk.json");
    const written = /\.agtp\/|\.pem$|examples\/\w+\/(?:offer|waits)\.json|guide\.\w+\.json/;
    expect(files.filter((file) => written.test(file))).toEqual([]);
  });

  it("has programs that a shell runs, where a checkout is linked as well", () => {
    const modes = Object.values(bin).map((file) => statSync(join(ROOT, file)).mode & 0o111);
    expect(new Set(modes)).toEqual(new Set([0o111]));
  });

  it("finds the files that come with it", () => {
    const listed = execFileSync(process.execPath, [
      join(ROOT, "dist/tools/agtp-conformance.js"),
      ...["--list", "--only", "5.1"],
    ]);
    expect(listed.toString()).toMatch(/^5\.1\S* {2,}§5\.1/m);
  });

  it("compiles against its public types alone, with no types of Node", () => {
    const directory = createDirectory();
    for (const file of [...declarations, "package.json"]) {
      const target = join(directory, "node_modules/agtpd", file);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(ROOT, file), target);
    }
    const source = join(directory, "handlers.ts");
    writeFileSync(source, PROGRAM);
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
    const options: ts.CompilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true },
      ...{ target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.NodeNext, types: [] },
    };
    for (const lib of [["lib.es2023.d.ts"], ["lib.es2023.d.ts", "lib.dom.d.ts"]]) {
      const program = ts.createProgram([source], { ...options, lib });
      const found = ts.getPreEmitDiagnostics(program);
      expect(found.map((one) => ts.flattenDiagnosticMessageText(one.messageText, "\n"))).toEqual(
        [],
      );
      const used = program
        .getSourceFiles()
        .map(({ fileName }) => fileName)
        .filter((name) => name.includes("/agtpd/"))
        .map((name) => name.slice(name.indexOf("/agtpd/") + "/agtpd/".length));
      // Whatever is published is needed, and nothing else is.
      expect(used.toSorted()).toEqual(declarations.toSorted());
    }
  });
});

const PROGRAM = `
import { AgtpClientError, createClient, parseUri } from "agtpd";
import type { AgtpClient, Call, ClientRequest, ClientResponse, Handler, Result } from "agtpd";

export const greet: Handler = async (call: Call) => {
  if (call.signal.aborted) return { error: "gone" };
  call.signal.addEventListener("abort", () => call.log.info({ event: "gone" }));
  const { body } = await call.dispatch("QUERY", "/greetings", { name: call.input["name"] });
  const greeting: Result = { body: { greeting: body } };
  return greeting;
};

export async function ask(uri: string): Promise<ClientResponse> {
  const { host, port } = parseUri(uri);
  const client: AgtpClient = createClient({ host, port, ca: "-----BEGIN CERTIFICATE-----" });
  const request: ClientRequest = { method: "DISCOVER", path: "/" };
  try {
    return await client.request(request);
  } catch (error) {
    throw error instanceof AgtpClientError ? new Error(error.code) : error;
  } finally {
    await client.close();
  }
}
`;
