/**
 * A pack's capability needs and dependencies. An unmet need refuses the pack, or degrades all its agents if it is
 * optional; a range that cannot be judged counts as unmet. Dependencies must be installed, without cycles.   OpenWOP
 * RFC 0072 §C, RFC 0092, "Node Packs"
 */
import { satisfies, valid, validRange } from "semver";
import { joinKey } from "../../../base/dotted-key.ts";
import { type JsonRecord, quoteValue, recordIn, valueAt } from "../../../base/json-value.ts";
import { addUnder } from "../../../base/listed.ts";
import { filterPaced, mapPaced, type Paced } from "../../../base/paced.ts";
import type { Problem } from "../../../base/problem.ts";
import type { InstalledPack } from "../installed-agent.ts";

/** The capabilities of this host in any configuration, at the protocol's version. */
const OWN_CAPABILITIES = [
  "agents@1.0.0",
  "agents.manifestRuntime@1.0.0",
  "agents.manifestRuntime.handoffValidation@1.0.0",
  "agents.reasoning@1.0.0",
];

/** Ranges that only require presence; `optional` also marks the need as optional. */
const PRESENCE: ReadonlySet<string> = new Set(["supported", "*", "", "true", "optional"]);
/** RFC 0003 §E: memory backends, each including the ones before it. */
const TIERS = ["scratchpad", "conversation", "longTerm"];

/** The available capabilities, by their keys in the discovery document. */
export class Capabilities {
  /** The version or tier by key; undefined if the operator states none. */
  readonly #levels: ReadonlyMap<string, string | undefined>;

  /** `beyond` is the operator's additional capabilities, as `name` or `name@level`. */
  constructor(beyond: readonly string[]) {
    this.#levels = new Map(
      [...OWN_CAPABILITIES, ...beyond].map((written) => {
        const at = written.lastIndexOf("@");
        if (at <= 0) return [plainKey(written), undefined];
        return [plainKey(written.slice(0, at)), written.slice(at + 1)];
      }),
    );
  }

  has(key: string): boolean {
    return this.#levels.has(plainKey(key));
  }

  /** Lists the missing capabilities without duplicates. */
  missing(keys: readonly string[]): readonly string[] {
    return [...new Set(keys.filter((key) => !this.has(key)))];
  }

  /** Returns the reason that a need is unmet, worded to follow its name; undefined if it is met. */
  lack(key: string, range: string): string | undefined {
    if (!this.has(key)) return "which this server does not have";
    const wanted = range.trim();
    if (PRESENCE.has(wanted)) return undefined;
    const level = this.#levels.get(plainKey(key));
    const tier = /^(?:>=)?([A-Za-z]+)$/.exec(wanted)?.[1];
    if (tier !== undefined && TIERS.includes(tier)) return lackOfTier(tier, wanted, level);
    if (validRange(wanted) === null) return `in ${quoteValue(wanted)}, which is no range`;
    if (level === undefined || valid(level) === null) {
      const remedy = `"${plainKey(key)}@VERSION" in openwop.satisfied says so`;
      return `in ${quoteValue(wanted)}, and it is not known which version this server has: ${remedy}`;
    }
    const isMet = satisfies(level, wanted, { includePrerelease: true });
    return isMet ? undefined : `in ${quoteValue(wanted)}, and this server has ${level}`;
  }
}

/** A backend without a stated tier satisfies every tier. */
function lackOfTier(tier: string, wanted: string, level: string | undefined): string | undefined {
  if (level === undefined) return undefined;
  const isMet = wanted.startsWith(">=")
    ? TIERS.indexOf(level) >= TIERS.indexOf(tier)
    : level === tier;
  return isMet ? undefined : `in ${quoteValue(wanted)}, and this server has ${quoteValue(level)}`;
}

/** Older packs write `openwop.agents.manifestRuntime`, and some keys end in `.supported`. */
function plainKey(key: string): string {
  return key.replace(/^openwop\./, "").replace(/\.supported$/, "");
}

/** An unmet need. */
interface UnmetPeer {
  readonly key: string;
  /** The reason, worded to follow its name. */
  readonly lack: string;
}

/** The unmet peer dependencies of a pack. */
interface PeerDisposition {
  /** Required ones, which refuse the pack. */
  readonly refused: readonly UnmetPeer[];
  /** Optional ones, which degrade its agents. */
  readonly degraded: readonly string[];
}

/** Judges a pack's peer dependencies; they are required unless marked optional. */
export function judgePeers(manifest: JsonRecord, capabilities: Capabilities): PeerDisposition {
  const peers = recordIn(manifest["peerDependencies"]);
  const { peerDependenciesMeta: meta } = manifest;
  const isOptional = (key: string): boolean =>
    valueAt(meta, [key, "optional"]) === true || peers[key] === "optional";
  const unmet = Object.entries(peers).flatMap(([key, range]): UnmetPeer[] => {
    const lack = capabilities.lack(key, String(range));
    return lack === undefined ? [] : [{ key, lack }];
  });
  return {
    refused: unmet.filter(({ key }) => !isOptional(key)),
    degraded: unmet.map(({ key }) => key).filter(isOptional),
  };
}

/** The packs with satisfied dependencies, and the problems of the others. */
interface ResolvedPacks {
  readonly packs: readonly InstalledPack[];
  readonly problems: readonly Problem[];
}

/** Removes packs with unsatisfied dependencies until a fixed point; one pack per step. */
export function* resolvingDependencies(installed: readonly InstalledPack[]): Paced<ResolvedPacks> {
  const problems: Problem[] = [];
  const all = byName(installed);
  let packs: readonly InstalledPack[] = yield* filterPaced(installed, (pack) => {
    const circle = findCircle(pack, all);
    if (circle !== undefined) problems.push(circular(pack, circle));
    return circle === undefined;
  });
  for (;;) {
    const left = byName(packs);
    const lacking = (yield* mapPaced(packs, (pack) => lacks(pack, left))).flat();
    if (lacking.length === 0) return { packs, problems };
    problems.push(...lacking.map(({ problem }) => problem));
    const gone = new Set(lacking.map(({ pack }) => pack));
    packs = packs.filter((pack) => !gone.has(pack));
  }
}

type PacksByName = ReadonlyMap<string, readonly InstalledPack[]>;

function byName(packs: readonly InstalledPack[]): PacksByName {
  const named = new Map<string, InstalledPack[]>();
  for (const pack of packs) addUnder(named, pack.name, pack);
  return named;
}

/** Finds a pack of the host or of the same tenant. */
function findPack(
  name: string,
  { tenant }: InstalledPack,
  packs: PacksByName,
): InstalledPack | undefined {
  return packs.get(name)?.find((one) => one.tenant === undefined || one.tenant === tenant);
}

function lacks(
  pack: InstalledPack,
  packs: PacksByName,
): readonly { readonly pack: InstalledPack; readonly problem: Problem }[] {
  return Object.entries(pack.dependencies).flatMap(([name, range]) => {
    const found = findPack(name, pack, packs);
    const fault = faultOf(range, found?.version);
    if (fault === undefined) return [];
    const key = joinKey("dependencies", name);
    const message = `${fault.code}: the pack depends on ${quoteValue(name)} ${fault.message}`;
    return [{ pack, problem: { file: pack.file, key, message } }];
  });
}

function faultOf(
  range: string,
  version: string | undefined,
): { readonly code: string; readonly message: string } | undefined {
  const wanted = `in ${quoteValue(range)}`;
  if (validRange(range) === null) {
    return {
      code: "pack_dependency_conflict",
      message: `${wanted}, which is no range of versions`,
    };
  }
  if (version === undefined) {
    return { code: "pack_version_not_found", message: `${wanted}, which is not installed` };
  }
  if (satisfies(version, range, { includePrerelease: true })) return undefined;
  return { code: "pack_dependency_conflict", message: `${wanted}, and ${version} is installed` };
}

/** A visited pack and its predecessor. */
interface Way {
  readonly at: InstalledPack;
  readonly from?: Way;
}

/** Returns the names along a cycle from a pack back to itself, without the first. */
function findCircle(start: InstalledPack, packs: PacksByName): readonly string[] | undefined {
  const ways = new Map<InstalledPack, Way>([[start, { at: start }]]);
  // Iterating over a Map includes entries added meanwhile.
  for (const from of ways.values()) {
    for (const name of Object.keys(from.at.dependencies)) {
      const at = findPack(name, from.at, packs);
      if (at === start) return [...namesOf(from), name];
      if (at !== undefined && !ways.has(at)) ways.set(at, { at, from });
    }
  }
  return undefined;
}

function namesOf({ at, from }: Way): readonly string[] {
  return from === undefined ? [] : [...namesOf(from), at.name];
}

function circular({ file, name }: InstalledPack, names: readonly string[]): Problem {
  const way = [name, ...names].join(" → ");
  const message = `pack_dependency_cycle: the pack depends on itself: ${way}`;
  return { file, key: "dependencies", message };
}
