/**
 * An image of `deploy/Containerfile` by buildah, without a network: its base is made of this machine's Node
 * and npm, and the package brings its dependencies along.
 */
import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { VERSION } from "../../src/base/version.ts";
import { shrinkLock } from "../../tools/package/shrink-lock.ts";
import { ROOT } from "./source-tree.ts";

const SYSTEM = ["/bin/sh", "/usr/bin/env"] as const;
/** Of glibc, and loaded by modules alone. */
const MORE_LIBRARIES = /\/lib(?:rt|dl|pthread|m)\.so/;

/** Files that no program reads, and what other platforms load: an image is quicker without. */
const NOT_READ = [
  ...["*.map", "*.d.ts", "*.d.mts", "*.d.cts", "*.md", "*/build/esm", "*/build/esnext"],
  ...["*/prebuilds/android*", "*/prebuilds/darwin*", "*/prebuilds/ios*", "*/prebuilds/win32*"],
  "node_modules/@libsql/*-musl*",
];

/** Packages of capabilities that a new deployment does not use, which are loaded where they are used alone. */
const UNUSED =
  /^node_modules\/(?:@opentelemetry|@modelcontextprotocol|@cedar-policy|@ai-sdk|@simplewebauthn|@readme|@apidevtools|@oozcitak|xmlbuilder2|zod|fastify|@fastify|undici|sodium-native|bintrees|prom-client|pg|uplot|preact|htm|openid-client|pino-pretty)(?:\/|$)/;

/** Runs a program to its end; what it prints. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, BUILDAH_ISOLATION: "chroot" };
  const options = { cwd: ROOT, env, maxBuffer: 64 * 1024 * 1024 };
  return (await promisify(execFile)(program, args, options)).stdout.trim();
}

/** Runs buildah, which needs neither a daemon nor namespaces of its own. */
export function buildah(...args: readonly string[]): Promise<string> {
  return run("buildah", args);
}

/** Has files belong to a user of the container. */
export async function giveTo(owner: string, path: string): Promise<void> {
  const words = ["chown", "-R", owner, path];
  await (process.getuid?.() === 0 ? run("chown", words.slice(1)) : buildah("unshare", ...words));
}

/** False where there is no builder, or none that may work. */
export function hasBuilder(): boolean {
  return spawnSync("buildah", ["info"]).status === 0;
}

/** Builds the image; `directory` is for what goes into it. */
export async function buildImage(directory: string, tag: string): Promise<void> {
  const base = await makeBase(join(directory, "base"));
  await buildah("bud", "--quiet", "--tag", `${tag}-node`, base);
  const context = join(directory, "context");
  mkdirSync(context);
  await bundlePackage(directory, join(context, `agtpd-${VERSION}.tgz`));
  await buildah(
    ...[
      "bud",
      "--quiet",
      "--format",
      "docker",
      "--tag",
      tag,
      "--build-arg",
      `NODE_IMAGE=${tag}-node`,
    ],
    ...["--build-arg", `PACKAGE=./agtpd-${VERSION}.tgz`],
    ...["--file", join(ROOT, "deploy/Containerfile"), context],
  );
}

/** What an image of Node has, as far as the package needs it. */
async function makeBase(directory: string): Promise<string> {
  const put = (from: string, to: string = from) => {
    mkdirSync(dirname(join(directory, to)), { recursive: true });
    cpSync(realpathSync(from), join(directory, to));
  };
  put(process.execPath, "/usr/bin/node");
  for (const program of SYSTEM) put(program);
  for (const library of await librariesOf([process.execPath, ...SYSTEM])) put(library);
  const npm = realpathSync(await run("which", ["npm"]));
  const folder = dirname(dirname(npm));
  cpSync(folder, join(directory, "usr/lib/node_modules/npm"), {
    recursive: true,
    dereference: true,
  });
  const script = '#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n';
  writeFileSync(join(directory, "usr/bin/npm"), script, { mode: 0o755 });
  for (const name of ["tmp", "etc", "root"]) mkdirSync(join(directory, name), { recursive: true });
  chmodSync(join(directory, "tmp"), 0o1777);
  writeFileSync(join(directory, "etc/passwd"), "root:x:0:0::/root:/bin/sh\n");
  const lines = ["FROM scratch", "COPY . /", "ENV PATH=/usr/bin:/bin npm_config_offline=true", ""];
  writeFileSync(join(directory, "Containerfile"), lines.join("\n"));
  return directory;
}

/** The shared libraries that programs load, and those that modules may load besides. */
async function librariesOf(programs: readonly string[]): Promise<readonly string[]> {
  const told = await run("ldd", programs);
  const cache = await run("/sbin/ldconfig", ["-p"]);
  const others = cache
    .split("\n")
    .filter((line) => MORE_LIBRARIES.test(line) && /x86-64|AArch64/.test(line));
  const found = `${told}\n${others.join("\n")}`.matchAll(/(\/lib[^\s():]*\.so[^\s():]*)/g);
  return [...new Set([...found].map(([, library = ""]) => library))];
}

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The folders of packages and of all that they depend on, as the lock has them. */
function reachable(names: readonly string[]): readonly string[] {
  const released = JSON.parse(shrinkLock(readFileSync(join(ROOT, "package-lock.json"), "utf8")));
  const packages = released.packages as Readonly<Record<string, Locked>>;
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (packages[path] === undefined || found.has(path)) return;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {} } = packages[path];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const nested = `${path}/node_modules/${name}`;
      visit(packages[nested] === undefined ? `node_modules/${name}` : nested);
    }
  };
  for (const name of names) visit(`node_modules/${name}`);
  return [...found].filter((path) => existsSync(join(ROOT, path)));
}

/** The package as it is published, with its dependencies in it. */
async function bundlePackage(directory: string, target: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const all: readonly [string, string][] = Object.entries(manifest.dependencies);
  const dependencies = Object.fromEntries(
    all.filter(([name]) => !UNUSED.test(`node_modules/${name}`)),
  );
  const modules = reachable(Object.keys(dependencies));
  const list = join(directory, "list");
  writeFileSync(
    list,
    [...(await packedFiles()), ...modules].filter((name) => name !== "package.json").join("\n"),
  );
  const bundled = {
    ...manifest,
    dependencies,
    bundleDependencies: Object.keys(dependencies),
    devDependencies: {},
  };
  mkdirSync(join(directory, "package"));
  writeFileSync(join(directory, "package/package.json"), JSON.stringify(bundled));
  const names = ["--transform", "s,^,package/,", ...NOT_READ.map((one) => `--exclude=${one}`)];
  await run("tar", ["--ignore-failed-read", ...names, "-cf", target, "-T", list]);
  await run("tar", ["-rf", target, "-C", directory, "package/package.json"]);
}

async function packedFiles(): Promise<readonly string[]> {
  const told = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"]);
  // Newer versions of npm report by name.
  const [pack] = Object.values(JSON.parse(told)) as {
    readonly files: { readonly path: string }[];
  }[];
  return pack?.files.map(({ path }) => path) ?? [];
}
