/**
 * A server's claims in its manifest, need by need: what is undefined here is not claimed, and is
 * not asked for.   AGTP-API §8, §9
 */
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { type Catalog, HTTP_VERBS } from "../../catalog/catalog.ts";
import { covers } from "../../identity/authority-scope.ts";
import {
  aliasSubject,
  deprecatedVerb,
  isTouched,
  knownPath,
  type MethodPolicy,
  namesOf,
  readPaths,
  readPolicy,
  redirectSubject,
  strangePath,
  unlistedMethod,
} from "./policy-subjects.ts";
import type { Found } from "./survey.ts";
import {
  mayCall,
  pairOf,
  plainSubject,
  querySubject,
  requiredSubject,
  type Subject,
  type Trial,
  trialOf,
  typedSubject,
} from "./trial.ts";

interface Circumstances {
  /** The version that the tool knows. */
  readonly catalog: Catalog;
  /** Scopes of the agent. */
  readonly held: readonly string[] | undefined;
  /** DISCOVER /methods. */
  readonly inventory: Found<readonly JsonRecord[]>;
}

/** Values by need. */
export function manifestNeeds(manifest: JsonRecord, circumstances: Circumstances): Subject {
  const { policies, hosted_agents: agents, endpoints, catalog_version: version } = manifest;
  const { catalog, held } = circumstances;
  const toggles = recordIn(policies);
  const list = Array.isArray(endpoints) ? endpoints.filter(isRecord) : [];
  const policy = readPolicy(manifest);
  const trials = readingTrials(list, circumstances).filter(
    ({ method }) => !isTouched(policy, method),
  );
  // AGTP-API §8.7: where scopes are required, a request without Authority-Scope has none to show.
  const isScopeNeeded = toggles["scope_required_for_invocation"] === true && held === undefined;
  const open = isScopeNeeded ? [] : trials.filter((trial) => mayCall(trial, held));
  return {
    manifest,
    endpoints: list.length > 0 ? list : undefined,
    "hosted-agents": Array.isArray(agents) && agents.length > 0 ? agents : undefined,
    "anonymous-discovery": whenIs(toggles["anonymous_discovery"], true),
    "closed-discovery": whenIs(toggles["anonymous_discovery"], false),
    synthesis: whenIs(toggles["synthesis_enabled"], true),
    "no-synthesis": whenIs(toggles["synthesis_enabled"], false),
    catalog: version === catalog.version ? catalog.version : undefined,
    ...endpointNeeds(open, catalog),
    ...policyNeeds(policy, list, open),
    "scoped-endpoint": scopedSubject(trials, held),
    "custom-method": namesOf(manifest["custom_methods"])[0],
    ...(version === catalog.version ? catalogNeeds(policy, list, catalog) : {}),
  };
}

function whenIs(value: unknown, wanted: boolean): true | undefined {
  return value === wanted ? true : undefined;
}

/** A large server is not tried to its last endpoint. */
const MAX_TRIED = 500;

function readingTrials(
  endpoints: readonly JsonRecord[],
  { inventory }: Circumstances,
): readonly Trial[] {
  const entries = inventory.kind === "missing" ? [] : inventory.value;
  const tiers = new Map(entries.map((entry) => [pairOf(entry), entry["tier"]]));
  return endpoints
    .slice(0, MAX_TRIED)
    .flatMap((endpoint) => trialOf(endpoint, (pair) => tiers.get(pair)) ?? []);
}

function policyNeeds(
  policy: MethodPolicy,
  endpoints: readonly JsonRecord[],
  trials: readonly Trial[],
): Subject {
  const { legacy, aliases } = policy;
  const paths = readPaths(endpoints);
  return {
    "known-path": knownPath(paths, policy),
    redirect: redirectSubject(policy, trials),
    alias: aliasSubject(policy, trials),
    "disallowed-method": strangePath(paths, policy.disallow[0]),
    "refused-legacy": HTTP_VERBS.find((verb) => !legacy.includes(verb) && !aliases.has(verb)),
    "accepted-legacy": HTTP_VERBS.find((verb) => legacy.includes(verb)),
  };
}

function catalogNeeds(
  policy: MethodPolicy,
  endpoints: readonly JsonRecord[],
  catalog: Catalog,
): Subject {
  const unlisted = unlistedMethod(policy, catalog, new Set(namesOf(endpoints)));
  return {
    "deprecated-method": deprecatedVerb(policy, catalog),
    "unlisted-method": strangePath(readPaths(endpoints), unlisted),
  };
}

/** The endpoints by need, of those that the agent may call; undefined where there is none. */
function endpointNeeds(open: readonly Trial[], catalog: Catalog): Subject {
  const current = open.filter(({ endpoint }) => !isRecord(endpoint["deprecated"]));
  const plain = current.filter(({ method }) => !catalog.verbs.get(method)?.deprecatedIn);
  const deprecated = open.find(({ endpoint }) => isRecord(endpoint["deprecated"]));
  return {
    "reading-endpoint": mapFirst(plain, plainSubject),
    "typed-endpoint": mapFirst(plain, typedSubject),
    "required-input": mapFirst(plain, requiredSubject),
    "query-input": mapFirst(plain, querySubject),
    "deprecated-endpoint": deprecated && deprecatedSubject(deprecated),
  };
}

function mapFirst(
  trials: readonly Trial[],
  make: (trial: Trial) => Subject | undefined,
): Subject | undefined {
  for (const trial of trials) {
    const subject = make(trial);
    if (subject !== undefined) return subject;
  }
  return undefined;
}

/** AGTP-API §6.5: the header that every response of it carries. */
function deprecatedSubject(trial: Trial): Subject {
  const { removed_in: removed, successor } = trial.endpoint["deprecated"] as JsonRecord;
  const parts = isRecord(successor) ? [successor["method"], successor["path"]] : [];
  const named = parts.filter((part) => typeof part === "string").join(" ");
  const warning = ["deprecated"];
  if (named !== "") warning.push(`successor=${named}`);
  if (typeof removed === "string") warning.push(`removed_in=${removed}`);
  return { ...plainSubject(trial), warning: warning.join("; ") };
}

/** An endpoint that requires what the claim leaves out; `held` are the scopes of the agent. */
function scopedSubject(
  trials: readonly Trial[],
  held: readonly string[] | undefined,
): Subject | undefined {
  for (const trial of trials) {
    const [required] = trial.requiredScopes;
    if (held === undefined || required === undefined) continue;
    const claim = held.filter((scope) => !covers([scope], required));
    if (claim.length > 0) return { ...plainSubject(trial), required, claim: claim.join(", ") };
  }
  return undefined;
}
