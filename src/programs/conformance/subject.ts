/**
 * The server under test as cases see it: the values that they name, and the needs that are not met,
 * each with its reason. A need that the server itself should have met makes its cases fail.
 *
 * A value is named after the need that it meets, with underscores: `{{known_path.method}}`.
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

/** An endpoint that is proposed, and input that it is called with. */
export interface Proposal {
  readonly endpoint: JsonRecord;
  readonly input: JsonRecord | undefined;
}

interface Lack {
  readonly reason: string;
  /** It is the server's fault: the cases are not skipped, they fail. */
  readonly isFault: boolean;
}

/** The names that cases can use, and the needs that cannot be met. */
export interface TestSubject {
  readonly values: Subject;
  readonly lacking: ReadonlyMap<Need, Lack>;
}

/** Needs that are met by the person who runs the suite, or by DISCOVER /patterns. */
const BROUGHT: readonly Need[] = ["agent", "other-agent", "scopes", "proposal", "proposal-input"];
const NEGOTIATION: readonly Need[] = ["rcns", "no-rcns"];

/** Puts together what cases can ask about. */
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

/** An agent gets the manifest by its media type. */
function byType(lines: Lines = () => []): Lines {
  return () => [...lines(), "Accept: application/vnd.agtp.manifest+json"];
}

/** Discovery without an agent is allowed, or nothing is known against it. */
function isOpen(manifest: Found<JsonRecord>, claimed: Subject): boolean {
  if (manifest.kind === "missing") return !manifest.isRefused;
  return claimed["closed-discovery"] === undefined;
}

/** A path that nobody has registered, and an id that nobody has. */
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
  // Without patterns a server does not negotiate, which is its right.
  const isFault = !isNegotiation && !source.isRefused;
  return { reason: `${document} ${source.reason}`, isFault };
}

interface Circumstances {
  /** The version that the tool knows. */
  readonly catalog: Catalog;
  readonly held: readonly string[] | undefined;
  readonly inventory: Found<readonly JsonRecord[]>;
}

/** A server's claims in its manifest by need: what is undefined is not asked for.   AGTP-API §8, §9 */
function manifestNeeds(manifest: JsonRecord, circumstances: Circumstances): Subject {
  const { policies, hosted_agents: agents, endpoints, catalog_version: version } = manifest;
  const { catalog, held } = circumstances;
  const toggles = recordIn(policies);
  const list = recordsIn(endpoints);
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
