/**
 * The packs that a pack depends on: each must be installed, in a version that it takes, and none of
 * them may lead back to it. A pack that lacks one is refused, and with it whoever depends on it.
 * OpenWOP "Node Packs" dependencies
 */
import { satisfies, validRange } from "semver";
import { joinKey } from "../../../base/dotted-key.ts";
import { quoteValue } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import type { InstalledPack } from "../installed-agent.ts";

/** The packs that have all that they depend on, and why the others are refused. */
interface ResolvedPacks {
  readonly packs: readonly InstalledPack[];
  readonly problems: readonly Problem[];
}

/** Takes out what cannot be had whole, until nothing more has to go. */
export function resolveDependencies(installed: readonly InstalledPack[]): ResolvedPacks {
  const problems: Problem[] = [];
  let packs = installed.filter((pack) => {
    const circle = findCircle(pack, installed);
    if (circle !== undefined) problems.push(circular(pack, circle));
    return circle === undefined;
  });
  for (;;) {
    const lacking = packs.flatMap((pack) => lacks(pack, packs));
    if (lacking.length === 0) return { packs, problems };
    problems.push(...lacking.map(({ problem }) => problem));
    const gone = new Set(lacking.map(({ pack }) => pack));
    packs = packs.filter((pack) => !gone.has(pack));
  }
}

/** A pack of the host's, or of the same tenant. */
function findPack(
  name: string,
  { tenant }: InstalledPack,
  packs: readonly InstalledPack[],
): InstalledPack | undefined {
  return packs.find(
    (one) => one.name === name && (one.tenant === undefined || one.tenant === tenant),
  );
}

function lacks(
  pack: InstalledPack,
  packs: readonly InstalledPack[],
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

/** The way from a pack back to itself, without its beginning. */
function findCircle(
  from: InstalledPack,
  packs: readonly InstalledPack[],
): readonly string[] | undefined {
  const seen = new Set<InstalledPack>();
  const ways: { readonly at: InstalledPack; readonly names: readonly string[] }[] = [
    { at: from, names: [] },
  ];
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    for (const name of Object.keys(way.at.dependencies)) {
      const next = findPack(name, way.at, packs);
      const names = [...way.names, name];
      if (next === from) return names;
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      ways.push({ at: next, names });
    }
  }
  return undefined;
}

function circular({ file, name }: InstalledPack, names: readonly string[]): Problem {
  const way = [name, ...names].join(" → ");
  const message = `pack_dependency_cycle: the pack depends on itself: ${way}`;
  return { file, key: "dependencies", message };
}
