/**
 * Declares the configured agents from files and environment alone: reads each manifest, chooses an option, resolves
 * dependencies and checks the address. Calls no server. An agent with a problem is left out.   AGTP-API "Validation
 * Timing"
 */
import { relative, resolve } from "node:path";
import type { Environment } from "../../base/environment.ts";
import { quoteValue } from "../../base/json-value.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { checkTemplate, type MethodNames } from "../../catalog/path-grammar.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import { type Choice, chooseOption } from "./choose-option.ts";
import type { AgntcyConfig, AgntcySections } from "./config.ts";
import { type DependencyNode, resolveDependencies } from "./dependencies/dependency-tree.ts";
import { type LocatedManifest, ManifestLibrary } from "./dependencies/manifest-library.ts";
import {
  credentialHint,
  lacksCredentials,
  readAccess,
  readAddress,
  type UpstreamAccess,
  type UpstreamAddress,
  variablePrefix,
} from "./upstream.ts";

/** The server of an agent and how to reach it. */
export interface Upstream {
  readonly address: UpstreamAddress;
  readonly access: UpstreamAccess;
  /** The agent's id at its server, if already known. */
  readonly agentId: string | undefined;
  /** PEM text. */
  readonly ca: string | undefined;
}

/** An agent whose files are valid. */
export interface DeclaredAgent extends LocatedManifest {
  readonly settings: AgntcyConfig;
  readonly choice: Exclude<Choice, { readonly kind: "unknown" }>;
  /** Undefined if the agent cannot be called. */
  readonly upstream: Upstream | undefined;
  readonly access: UpstreamAccess;
  readonly dependencies: readonly DependencyNode[];
}

/** The valid agents, and the problems of the others. */
interface DeclaredAgents {
  readonly agents: readonly DeclaredAgent[];
  readonly problems: readonly Problem[];
}

interface DeclarationContext {
  readonly config: AgntcySections;
  readonly names: MethodNames;
  readonly env: Environment;
}

/** The longest endpoint path below a base; it must be valid, too. */
const LONGEST = "/runs/{run_id}/events";

/** Declares every configured agent. */
export function declareAgents(context: DeclarationContext): DeclaredAgents {
  const { directory, agents, agntcy } = context.config;
  const library = new ManifestLibrary({
    directory,
    shelf: resolve(directory, agents.dir, "agntcy"),
  });
  // Reads all manifests first, so that dependencies are found in any order.
  for (const { manifest } of agntcy) library.read(manifest);
  const problems: Problem[] = [];
  const bases = new Set<string>();
  const declared = agntcy.flatMap((one) => {
    const fault = checkBase(one.base, bases, context.names);
    bases.add(one.base);
    if (fault !== undefined) problems.push({ ...placeOf(context, one, "base"), message: fault });
    const agent = declareAgent(one, library, context, problems);
    return agent === undefined || fault !== undefined ? [] : [agent];
  });
  problems.push(...findSharedVariables(declared, context));
  return { agents: declared, problems };
}

/** Finds names that differ only in punctuation: they share variables, whose values would go to both servers. */
function findSharedVariables(
  agents: readonly DeclaredAgent[],
  context: DeclarationContext,
): readonly Problem[] {
  return agents.flatMap(({ manifest: { name }, settings, access }): Problem[] => {
    const { endpoint, agentId, headers } = access;
    const isSet =
      endpoint !== undefined || agentId !== undefined || Object.keys(headers).length > 0;
    const prefix = variablePrefix(name);
    const other = agents.find(({ manifest }) => variablePrefix(manifest.name) === prefix);
    if (!isSet || other === undefined || other.manifest.name === name) return [];
    const message = `${quoteValue(name)} has the variables of ${quoteValue(other.manifest.name)}, ${prefix}…`;
    const hint = "both servers get the same credentials: one of the manifests needs another name";
    return [{ ...placeOf(context, settings, "manifest"), message, hint, severity: "warning" }];
  });
}

function checkBase(
  base: string,
  taken: ReadonlySet<string>,
  names: MethodNames,
): string | undefined {
  if (base === "/") return 'must be a path of its own, "/" belongs to the protocol';
  if (base.includes("{")) return `${quoteValue(base)} must have no parameters`;
  if (taken.has(base)) return `${quoteValue(base)} is the path of another agent`;
  return (checkTemplate(base, names) ?? checkTemplate(base + LONGEST, names))?.message;
}

function placeOf({ config }: DeclarationContext, settings: AgntcyConfig, name: string) {
  const key = `agntcy[${config.agntcy.indexOf(settings)}].${name}`;
  return { file: relative(config.directory, config.file), key };
}

function declareAgent(
  settings: AgntcyConfig,
  library: ManifestLibrary,
  context: DeclarationContext,
  problems: Problem[],
): DeclaredAgent | undefined {
  const { manifest, problems: found } = library.read(settings.manifest);
  problems.push(...found);
  if (manifest === undefined) return undefined;
  const path = settings.manifest;
  const report = (name: string, message: string, more: Partial<Problem> = {}): undefined => {
    problems.push({ ...placeOf(context, settings, name), message, ...more });
  };
  const scheme = schemeOf(manifest.options, settings.option);
  const access = readAccess(manifest.name, context.env, scheme);
  const choice = chooseOption(manifest, settings.option, access.endpoint);
  if (choice.kind === "unknown") {
    const { message, hint } = choice;
    return report("option", message, hint === undefined ? {} : { hint });
  }
  const tree = resolveDependencies({ manifest, path }, library, context.env);
  const dependencies = tree.nodes;
  const declared = { manifest, path, settings, choice, access, dependencies };
  if (choice.kind === "declared") {
    // An agent that is not called needs no dependencies, so their problems are warnings.
    problems.push(...tree.problems.map((one) => ({ ...one, severity: "warning" }) as const));
    return { ...declared, upstream: undefined };
  }
  problems.push(...tree.problems);
  if (lacksCredentials(access, choice.service.authentication)) {
    const message = "the agent's server asks for credentials, and the environment has none";
    const hint = credentialHint(manifest.name);
    report("manifest", message, { hint, severity: "warning" });
  }
  for (const fault of access.faults) report("manifest", fault);
  const upstream = locateUpstream(settings, choice.service, access, context, report);
  const isWhole = access.faults.length === 0 && !tree.problems.some(isError);
  return upstream !== undefined && isWhole ? { ...declared, upstream } : undefined;
}

function schemeOf(options: LocatedManifest["manifest"]["options"], name: string | undefined) {
  const remote = options.filter((option) => option.type === "remote_service");
  const chosen = name === undefined ? remote[0] : remote.find((option) => option.name === name);
  return chosen?.authentication;
}

function locateUpstream(
  { allowHttp, ca }: AgntcyConfig,
  service: { readonly url: string; readonly agentId?: string },
  access: UpstreamAccess,
  { config: { directory } }: DeclarationContext,
  report: (name: string, message: string) => undefined,
): Upstream | undefined {
  const read = readAddress(service.url, allowHttp);
  if (read.fault !== undefined) return report("manifest", `the agent's address ${read.fault}`);
  const certificates = ca === undefined ? undefined : readCertificates(directory, ca);
  if (certificates?.fault !== undefined) return report("ca", certificates.fault);
  const agentId = access.agentId ?? service.agentId;
  return { address: read.address, access, agentId, ca: certificates?.text };
}
