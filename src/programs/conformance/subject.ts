/**
 * The server under test as cases see it: the values that they refer to, and the unmet needs, each
 * with a reason. An unmet need that is the server's own fault fails its cases.
 *
 * A value has the name of the need that it meets, with underscores: `{{known_path.method}}`.
 */

import { isRecord, type JsonRecord, recordIn, recordsIn } from "../../base/json-value.ts";
import { type Catalog, HTTP_VERBS } from "../../catalog/catalog.ts";
import { covers } from "../../identity/authority-scope.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import {
  type Found,
  type Identity,
  identityLines,
  type Lines,
  plainScopes,
  type Survey,
} from "./ask.ts";
import { NEEDS, type Need } from "./case.ts";
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
import {
  mayCall,
  plainSubject,
  querySubject,
  requiredSubject,
  type Subject,
  type Trial,
  trialOf,
  typedSubject,
} from "./trial.ts";
import { pairOf } from "./value-kinds.ts";

interface Belongings {
  readonly identity: Identity;
  readonly catalog: Catalog;
  readonly proposal?: Proposal | undefined;
}

/** An endpoint to propose, and input to call it with. */
export interface Proposal {
  readonly endpoint: JsonRecord;
  readonly input: JsonRecord | undefined;
}

interface Lack {
  readonly reason: string;
  /** True if it is the server's fault: the cases fail instead of being skipped. */
  readonly isFault: boolean;
}

/** The values that cases can refer to, and the unmet needs. */
export interface TestSubject {
  readonly values: Subject;
  readonly lacking: ReadonlyMap<Need, Lack>;
}

/** Needs that the caller's command line meets, or DISCOVER /patterns. */
const BROUGHT: readonly Need[] = ["agent", "other-agent", "scopes", "proposal", "proposal-input"];
const NEGOTIATION: readonly Need[] = ["rcns", "no-rcns"];

/** Collects the values and the unmet needs. */
export function prepareSubject(survey: Survey, belongings: Belongings): TestSubject {
  const { identity, catalog, proposal } = belongings;
  const { manifest, inventory, patterns } = survey;
  const claimed: Subject =
    manifest.kind === "missing"
      ? {}
      : manifestNeeds(manifest.value, { catalog, held: identity.scopes, inventory });
  const met: Subject = {
    ...identityNeeds(identity),
    ...negotiationNeeds(patterns),
    ...claimed,
    caller: identity.agentId ?? (isOpen(manifest, claimed) ? true : undefined),
    proposal: proposal?.endpoint,
    "proposal-input": proposal?.input,
  };
  const needs = Object.keys(NEEDS) as readonly Need[];
  const lacking = needs
    .filter((need) => met[need] === undefined)
    .map((need) => [need, lackOf(need, survey)] as const);
  const named = Object.entries(met).map(([need, value]) => [need.replaceAll("-", "_"), value]);
  const lines = identityLines(identity);
  const reader =
    claimed["closed-discovery"] === undefined ? lines["anyone"] : byType(lines["agent"]);
  const values = { ...Object.fromEntries(named), ...lines, reader, ...ids(identity) };
  return { values, lacking: new Map(lacking) };
}

/** Adds the media type by which an agent requests the manifest. */
function byType(lines: Lines = () => []): Lines {
  return () => [...lines(), "Accept: application/vnd.agtp.manifest+json"];
}

/** Returns true unless discovery without an agent is known to be refused. */
function isOpen(manifest: Found<JsonRecord>, claimed: Subject): boolean {
  if (manifest.kind === "missing") return !manifest.isRefused;
  return claimed["closed-discovery"] === undefined;
}

/** Identifiers of the run, with a path and an id that do not exist. */
function ids({ agentId, otherAgentId }: Identity): Subject {
  return {
    agent_id: agentId,
    other_agent_id: otherAgentId,
    unknown: `/conformance-${uuidv7()}`,
    unknown_id: `conformance-${uuidv7()}`,
    run_key: uuidv7(),
  };
}

function identityNeeds({ agentId, otherAgentId, scopes }: Identity): Subject {
  const canNarrow = scopes !== undefined && plainScopes(scopes).length > 0;
  return {
    agent: agentId,
    "other-agent": otherAgentId,
    scopes: agentId !== undefined && canNarrow ? scopes : undefined,
  };
}

function negotiationNeeds(patterns: Found<JsonRecord>): Subject {
  const isEnabled = patterns.kind === "found" ? patterns.value["rcns_enabled"] : undefined;
  return {
    rcns: isEnabled === true ? true : undefined,
    "no-rcns": isEnabled === false ? true : undefined,
  };
}

function lackOf(need: Need, { manifest, patterns }: Survey): Lack {
  const unmet: Lack = { reason: `it needs ${NEEDS[need]}`, isFault: false };
  if (BROUGHT.includes(need)) return unmet;
  const isNegotiation = NEGOTIATION.includes(need);
  const source = isNegotiation ? patterns : manifest;
  if (source.kind === "found") return unmet;
  const document = isNegotiation ? "DISCOVER /patterns" : "the server's manifest";
  // A server without patterns does not negotiate, which is permitted.
  const isFault = !isNegotiation && !source.isRefused;
  return { reason: `${document} ${source.reason}`, isFault };
}

interface Circumstances {
  /** The product's own catalog. */
  readonly catalog: Catalog;
  readonly held: readonly string[] | undefined;
  readonly inventory: Found<readonly JsonRecord[]>;
}

/** The needs that a manifest's claims meet; undefined for unmet ones.   AGTP-API §8, §9 */
function manifestNeeds(manifest: JsonRecord, circumstances: Circumstances): Subject {
  const { policies, hosted_agents: agents, endpoints, catalog_version: version } = manifest;
  const { catalog, held } = circumstances;
  const toggles = recordIn(policies);
  const list = recordsIn(endpoints);
  const policy = readPolicy(manifest);
  const trials = readingTrials(list, circumstances).filter(
    ({ method }) => !isTouched(policy, method),
  );
  // AGTP-API §8.7: if scopes are required, a request without Authority-Scope has none.
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

/** The maximum number of endpoints that are tried. */
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

/** The endpoints that the agent may call, by the need they meet; undefined for unmet ones. */
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

/** AGTP-API §6.5: the warning header of every response of a deprecated endpoint. */
function deprecatedSubject(trial: Trial): Subject {
  const { removed_in: removed, successor } = trial.endpoint["deprecated"] as JsonRecord;
  const parts = isRecord(successor) ? [successor["method"], successor["path"]] : [];
  const named = parts.filter((part) => typeof part === "string").join(" ");
  const warning = ["deprecated"];
  if (named !== "") warning.push(`successor=${named}`);
  if (typeof removed === "string") warning.push(`removed_in=${removed}`);
  return { ...plainSubject(trial), warning: warning.join("; ") };
}

/** An endpoint whose required scopes a narrower claim omits; `held` are the agent's scopes. */
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
