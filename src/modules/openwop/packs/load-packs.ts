/**
 * Loads the packs directory: one directory per pack, or with `install_scope = "tenant"` one per tenant with its packs
 * inside. A directory without pack.json is ignored. A name claimed by two packs belongs to the first in directory
 * order.   OpenWOP RFC 0003, RFC 0074
 */

import { existsSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import {
  describeFileError,
  findDirectoryFault,
  readBoundedFile,
} from "../../../base/bounded-file.ts";
import { joinKey } from "../../../base/dotted-key.ts";
import { quoteValue } from "../../../base/json-value.ts";
import { atOnce, type Paced } from "../../../base/paced.ts";
import { realPath, relativePath } from "../../../base/paths.ts";
import type { Problem } from "../../../base/problem.ts";
import { codeOf } from "../../../base/thrown.ts";
import { type Ed25519PublicKey, readPublicKey } from "../../../identity/ed25519.ts";
import type { OpenwopSections } from "../config.ts";
import type { InstalledAgent, InstalledPack } from "../installed-agent.ts";
import { modelFaultOf } from "../runtime/load-runtime.ts";
import { Capabilities, resolvingDependencies } from "./peer-capabilities.ts";
import { PackFiles } from "./read-agent.ts";
import { MANIFEST_NAME, type PackPlace, PackReader, type PackRules } from "./read-pack.ts";

interface PacksLocation {
  /** The deployment directory, an absolute path. */
  readonly directory: string;
  /** An absolute path. */
  readonly packsDir: string;
  readonly installScope: "host" | "tenant";
}

/** The installed packs, and the problems of the others. */
export interface LoadedPacks {
  readonly packs: readonly InstalledPack[];
  readonly problems: readonly Problem[];
}

const DEFAULT_DIR = "agents/openwop";
const MAX_PACKS = 1024;
const MAX_AGENTS = 4096;

/** Loads every pack in one go. */
export function loadPacks(location: PacksLocation, rules: PackRules): LoadedPacks {
  return atOnce(loadingPacks(location, rules));
}

/** Loads packs, one per step. */
function* loadingPacks(location: PacksLocation, rules: PackRules): Paced<LoadedPacks> {
  const listing = new Listing(location);
  const places = listing.places();
  let reader: PackReader | undefined;
  const problems: Problem[] = [...listing.problems];
  const claims = new Claims();
  const packs: InstalledPack[] = [];
  for (const place of places) {
    yield;
    reader ??= new PackReader(rules);
    const { pack, problems: found } = reader.read(place);
    problems.push(...found);
    if (pack === undefined) continue;
    const { taken, problems: doubled } = claims.claim(pack);
    problems.push(...doubled);
    if (taken !== undefined) packs.push(taken);
  }
  const resolved = yield* resolvingDependencies(packs);
  return { packs: resolved.packs, problems: [...problems, ...resolved.problems] };
}

/** Lists the pack directories; a link must stay within the deployment or the packs directory. */
class Listing {
  readonly problems: Problem[] = [];
  readonly #location: PacksLocation;
  readonly #roots: readonly string[];

  constructor(location: PacksLocation) {
    this.#location = location;
    const { directory, packsDir } = location;
    this.#roots = [directory, packsDir].flatMap((path) => realPath(path) ?? []);
  }

  places(): readonly PackPlace[] {
    const { packsDir, installScope } = this.#location;
    const places =
      installScope === "host"
        ? this.#packsIn(packsDir, undefined)
        : this.#directoriesIn(packsDir).flatMap(([name, path]) => this.#packsOf(name, path));
    if (places.length > MAX_PACKS) {
      this.#report(packsDir, `has ${places.length} packs, expected at most ${MAX_PACKS}`);
    }
    return places.slice(0, MAX_PACKS);
  }

  #packsOf(tenant: string, path: string): readonly PackPlace[] {
    if (!existsSync(join(path, MANIFEST_NAME))) return this.#packsIn(path, tenant);
    this.#report(
      path,
      'is a pack where install_scope = "tenant" expects the directory of a tenant',
    );
    return [];
  }

  #packsIn(directory: string, tenant: string | undefined): readonly PackPlace[] {
    return this.#directoriesIn(directory).flatMap(([, path]) => {
      const manifest = join(path, MANIFEST_NAME);
      if (!existsSync(manifest)) {
        if (tenant === undefined) this.#reportTenant(path);
        return [];
      }
      const root = realPath(path) ?? "";
      if (!this.#roots.some((inside) => root.startsWith(inside + sep))) {
        this.#report(path, "is a link that leads out of the deployment directory");
        return [];
      }
      return [{ files: new PackFiles(root), tenant, file: this.#nameOf(manifest) }];
    });
  }

  /** Reports tenant packs that `install_scope = "host"` would ignore. */
  #reportTenant(path: string): void {
    const packs = this.#directoriesIn(path).filter(([, one]) =>
      existsSync(join(one, MANIFEST_NAME)),
    );
    if (packs.length === 0) return;
    this.#report(path, 'has packs of a tenant, which install_scope = "host" does not install');
  }

  /** Lists subdirectories in the same order on every machine. */
  #directoriesIn(directory: string): readonly (readonly [name: string, path: string])[] {
    try {
      return readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("."))
        .sort()
        .map((name) => [name, join(directory, name)] as const);
    } catch (error) {
      // A link may lead to something other than a directory, which holds no packs.
      if (directory !== this.#location.packsDir) return [];
      const isDefault = this.#nameOf(directory) === DEFAULT_DIR;
      if (codeOf(error) !== "ENOENT" || !isDefault)
        this.#report(directory, findDirectoryFault(directory) ?? describeFileError(error));
      return [];
    }
  }

  #report(path: string, message: string): void {
    this.problems.push({ file: this.#nameOf(path), key: "", message });
  }

  #nameOf(path: string): string {
    return relativePath(this.#location.directory, path);
  }
}

/** The names of packs and agents, claimed per tenant. */
class Claims {
  readonly #owners = new Map<string, string>();
  #agents = 0;

  claim(pack: InstalledPack): {
    readonly taken: InstalledPack | undefined;
    readonly problems: readonly Problem[];
  } {
    const { file, tenant, name } = pack;
    const problem = this.#claim(["pack", tenant, name], file, "name", name);
    if (problem !== undefined) return { taken: undefined, problems: [problem] };
    const problems: Problem[] = [];
    const agents = pack.agents.filter((agent) => {
      const { agentId } = agent;
      const found =
        this.#claim(["agent", tenant, agentId], file, "agents", agentId) ?? this.#count(agent);
      if (found !== undefined) problems.push(found);
      return found === undefined;
    });
    return { taken: { ...pack, agents }, problems };
  }

  #claim(what: readonly unknown[], file: string, key: string, name: string): Problem | undefined {
    const claim = JSON.stringify(what);
    const owner = this.#owners.get(claim);
    if (owner === undefined) {
      this.#owners.set(claim, file);
      return undefined;
    }
    return { file, key, message: `${quoteValue(name)} is already installed from ${owner}` };
  }

  #count(agent: InstalledAgent): Problem | undefined {
    this.#agents += 1;
    if (this.#agents <= MAX_AGENTS) return undefined;
    const message = `is one agent too many, expected at most ${MAX_AGENTS} in all`;
    return { file: agent.pack.file, key: "agents", message };
  }
}

interface ReadPacks extends LoadedPacks {
  /** Keys that the configuration names and that cannot be loaded. */
  readonly blockers: readonly Problem[];
}

/** Reads every pack, one per step. */
export function* readingPacks({ directory, file, openwop }: OpenwopSections): Paced<ReadPacks> {
  const { packsDir, installScope, satisfied, requireSignatures: isRequired } = openwop;
  const { keys, problems } = readPackKeys(openwop.trustedKeys, relative(directory, file));
  const capabilities = new Capabilities([
    ...satisfied,
    ...(openwop.reasoning.streaming ? ["agents.reasoning.streaming"] : []),
  ]);
  const loaded = yield* loadingPacks(
    { directory, packsDir, installScope },
    {
      ...{ capabilities, signatures: { trustedKeys: keys, isRequired } },
      modelFault: modelFaultOf(openwop.runtime),
    },
  );
  return { ...loaded, blockers: problems };
}

const MAX_KEY_BYTES = 65_536;

/** Reads the trusted keys, by publicKeyRef; `file` is the configuration. */
export function readPackKeys(
  paths: Readonly<Record<string, string>>,
  file: string,
): {
  readonly keys: ReadonlyMap<string, Ed25519PublicKey>;
  readonly problems: readonly Problem[];
} {
  const keys = new Map<string, Ed25519PublicKey>();
  const problems: Problem[] = [];
  for (const [name, path] of Object.entries(paths)) {
    const { text, fault } = readBoundedFile(path, MAX_KEY_BYTES);
    const key = text === undefined ? undefined : readPublicKey(text);
    if (key !== undefined) keys.set(name, key);
    else {
      const message = `${quoteValue(path)} ${fault ?? "must be an Ed25519 public key, PEM or base64url"}`;
      problems.push({ file, key: joinKey("openwop.trusted_keys", name), message });
    }
  }
  return { keys, problems };
}
