/**
 * The direct and transitive dependencies of an agent: each needs a manifest of the right version, an existing option
 * and all required variables. Cycles are reported. Services are verified elsewhere.   Agent Manifest "Agent
 * Dependencies"
 */
import type { Environment } from "../../../base/environment.ts";
import { quoteValue } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import { type Choice, chooseOption, type OptionView } from "../choose-option.ts";
import type { Dependency, EnvironmentValues, EnvironmentVariable } from "../manifest/manifest.ts";
import { readAccess, variablePrefix } from "../upstream.ts";
import type { LocatedManifest, ManifestLibrary } from "./manifest-library.ts";

export interface DependencyNode {
  readonly name: string;
  readonly ref: { readonly name: string; readonly version: string };
  /** Undefined if no manifest was found. */
  readonly located: LocatedManifest | undefined;
  readonly choice: Choice | undefined;
  readonly option: OptionView | undefined;
  /** The reason that it is unusable. */
  readonly fault: string | undefined;
  readonly dependencies: readonly DependencyNode[];
}

interface DependencyTree {
  readonly nodes: readonly DependencyNode[];
  readonly problems: readonly Problem[];
}

const MAX_NODES = 256;
const MAX_DEPTH = 32;

/** Resolves the dependencies of a manifest. */
export function resolveDependencies(
  root: LocatedManifest,
  library: ManifestLibrary,
  env: Environment,
): DependencyTree {
  const walk = new Walk(library, env);
  const nodes = walk.below(root, [root], { values: {}, dependencies: {} });
  return { nodes, problems: walk.problems };
}

class Walk {
  readonly problems: Problem[] = [];
  readonly #library: ManifestLibrary;
  readonly #env: Environment;
  #count = 0;

  constructor(library: ManifestLibrary, env: Environment) {
    this.#library = library;
    this.#env = env;
  }

  /** `trail` is the path from the root, `given` the variables set along it. */
  below(
    parent: LocatedManifest,
    trail: readonly LocatedManifest[],
    given: EnvironmentValues,
  ): readonly DependencyNode[] {
    return parent.manifest.dependencies.map((one) => this.#visit(one, parent, trail, given));
  }

  #visit(
    dependency: Dependency,
    parent: LocatedManifest,
    trail: readonly LocatedManifest[],
    given: EnvironmentValues,
  ): DependencyNode {
    const { name, ref } = dependency;
    this.#count += 1;
    // A tree that is too wide may have thousands of excess nodes; one is reported.
    const isToldOf = this.#count <= MAX_NODES + 1;
    const fail = (fault: string, located?: LocatedManifest): DependencyNode => {
      if (isToldOf) this.#report(parent, dependency, fault);
      const nothing = { choice: undefined, option: undefined, dependencies: [] };
      return { name, ref, located, fault, ...nothing };
    };
    if (this.#count > MAX_NODES) {
      return fail(`is one dependency too many, expected at most ${MAX_NODES}`);
    }
    if (trail.length > MAX_DEPTH) return fail(`is deeper than ${MAX_DEPTH} dependencies`);
    const located = this.#library.locate(dependency, parent);
    if (located.fault !== undefined) return fail(located.fault);
    const cycle = findCycle(located, trail);
    if (cycle !== undefined) return fail(`is a dependency cycle: ${cycle}`, located);
    const { manifest } = located;
    if (manifest.version !== ref.version) {
      const found = `has version ${quoteValue(manifest.version)}`;
      return fail(`${found}, expected ${quoteValue(ref.version)}`, located);
    }
    return this.#check(dependency, parent, located, trail, given);
  }

  #check(
    dependency: Dependency,
    parent: LocatedManifest,
    located: LocatedManifest,
    trail: readonly LocatedManifest[],
    given: EnvironmentValues,
  ): DependencyNode {
    const { name, ref } = dependency;
    const { manifest } = located;
    const faults: string[] = [];
    const outer = Object.hasOwn(given.dependencies, name) ? given.dependencies[name] : undefined;
    const values = joinValues(dependency.values, outer);
    const unset = unsetVariables(manifest.environment, [name, ref.name], values.values, this.#env);
    if (unset.length > 0) faults.push(`needs ${unset.join(", ")} in the environment`);
    const access = readAccess(ref.name, this.#env, undefined);
    const choice = chooseOption(manifest, dependency.option, access.endpoint);
    if (choice.kind === "unknown") faults.push(choice.message);
    for (const fault of faults) this.#report(parent, dependency, fault);
    return {
      ...{ name, ref, located, choice },
      option: choice.kind === "unknown" ? undefined : choice.option,
      fault: faults.length === 0 ? undefined : faults.join("; "),
      dependencies: this.below(located, [...trail, located], values),
    };
  }

  #report({ manifest: { file } }: LocatedManifest, { pointer, name }: Dependency, message: string) {
    this.problems.push({ file, key: pointer, message: `${quoteValue(name)} ${message}` });
  }
}

/** Merges variables; those set nearer to the root take precedence. */
function joinValues(
  own: EnvironmentValues,
  outer: EnvironmentValues | undefined,
): EnvironmentValues {
  if (outer === undefined) return own;
  return {
    values: { ...own.values, ...outer.values },
    dependencies: { ...own.dependencies, ...outer.dependencies },
  };
}

/** Returns the cycle as names and versions. */
function findCycle(
  { path, manifest }: LocatedManifest,
  trail: readonly LocatedManifest[],
): string | undefined {
  const at = trail.findIndex((earlier) => {
    const isSame = earlier.manifest.name === manifest.name;
    return earlier.path === path || (isSame && earlier.manifest.version === manifest.version);
  });
  if (at === -1) return undefined;
  return [...trail.slice(at).map((one) => one.manifest), manifest]
    .map(({ name, version }) => `${name} ${version}`)
    .join(" -> ");
}

/**
 * Finds required variables without a value: neither from the depending manifest, nor from the environment by the plain
 * or the agent-prefixed name, nor by default.
 */
function unsetVariables(
  variables: readonly EnvironmentVariable[],
  agentNames: readonly string[],
  values: Readonly<Record<string, string>>,
  env: Environment,
): readonly string[] {
  const isSet = (from: Environment, name: string): boolean =>
    Object.hasOwn(from, name) && from[name] !== undefined && from[name] !== "";
  return variables
    .filter(({ isRequired, defaultValue = "" }) => isRequired && defaultValue === "")
    .map(({ name }) => name)
    .filter((name) => !isSet(values, name) && !isSet(env, name))
    .filter((name) => !agentNames.some((agent) => isSet(env, variablePrefix(agent) + name)));
}

export interface DependencyView {
  readonly name: string;
  readonly agent: string;
  readonly version: string;
  /**
   * `available`: found at its server. `declared`: deployed by others and not checked. `unchecked`: not checked yet.
   * `failed`: unusable.
   */
  readonly status: "available" | "declared" | "unchecked" | "failed";
  readonly reason?: string;
  readonly option?: OptionView;
  readonly dependencies: readonly DependencyView[];
}

/** The verification results by node; a missing node was not checked. */
type Reachability = ReadonlyMap<DependencyNode, { readonly fault: string | undefined }>;

/** Returns views of the dependencies with their verification. */
export function viewDependencies(
  nodes: readonly DependencyNode[],
  reached: Reachability,
): readonly DependencyView[] {
  return nodes.map((node) => {
    const { name, ref, option } = node;
    const reason = node.fault ?? reached.get(node)?.fault;
    return {
      name,
      agent: ref.name,
      version: ref.version,
      status: reason === undefined ? statusOf(node, reached) : "failed",
      ...(reason === undefined ? {} : { reason }),
      ...(option === undefined ? {} : { option }),
      dependencies: viewDependencies(node.dependencies, reached),
    };
  });
}

function statusOf(node: DependencyNode, reached: Reachability): DependencyView["status"] {
  if (node.choice?.kind === "declared") return "declared";
  return reached.has(node) ? "available" : "unchecked";
}
