/**
 * Filters: conditions that a result must meet whatever its words say. Of several values for one
 * condition one is enough; of several conditions all must hold, and what an entry does not have
 * meets none. Unknown conditions are refused (422): ignoring one would show too much.
 * AGTP "DISCOVER" filter
 */
import type { JsonSchema } from "../contract/json-schema.ts";
import { compileGrants } from "../identity/authority-scope.ts";
import type { JsonRecord } from "../json-value.ts";
import { agentTags, methodsOf } from "./agent-tags.ts";
import type { Asker, SearchEntry } from "./entry.ts";
import { zonesOf } from "./zones.ts";

/** Whether an entry meets all conditions, for this caller. */
export type Condition = (entry: SearchEntry, asker: Asker) => boolean;

interface FilterRule {
  readonly schema: JsonSchema;
  /** Compiles the condition for the value that was given. */
  readonly compile: (value: unknown) => Condition;
}

const TEXT = { type: "string", minLength: 1, maxLength: 256 };
const TEXTS = {
  type: ["string", "array"],
  minLength: 1,
  maxLength: 256,
  items: TEXT,
  maxItems: 64,
};
const FLAG = { type: "boolean" };
const TIERS = [1, 2, 3, "A", "B"];

const METHOD = oneOf(({ facets }) => [facets.method]);
const CAPABILITY = oneOf(({ facets: { capability, agent } }) => [
  capability,
  ...agentTags(agent),
  ...methodsOf(agent),
]);
const TAG = oneOf(({ facets: { namespace, capability, agent, tags = [] } }) => [
  ...[namespace, capability],
  ...agentTags(agent),
  ...tags,
]);
const TRUST_TIER = numberOf((given, entry) => entry.facets.agent?.trustTier === given, 1, 3);
const PATH: FilterRule = {
  schema: TEXTS,
  compile: (value) => {
    const prefixes = readList(value);
    return ({ facets: { path } }) =>
      path !== undefined && prefixes.some((prefix) => path.startsWith(prefix));
  },
};
const SCOPES: FilterRule = {
  schema: TEXTS,
  compile: (value) => {
    const scopes = readList(value);
    const grants = compileGrants(scopes);
    // What can be called with these scopes, and which agents hold all of them.
    return ({ facets: { requiredScopes, agent } }) => {
      if (agent !== undefined) {
        const held = compileGrants(agent.scopes);
        return scopes.every((scope) => held.covers(scope));
      }
      return requiredScopes?.every((scope) => grants.covers(scope)) ?? false;
    };
  },
};

/** Every condition by its name on the wire. */
const RULES: Readonly<Record<string, FilterRule>> = {
  kind: oneOf(({ kind }) => [kind, `${kind}s`]),
  method: METHOD,
  methods: METHOD,
  path: PATH,
  path_prefix: PATH,
  namespace: oneOf(({ facets }) => [facets.namespace]),
  capability: CAPABILITY,
  capabilities: CAPABILITY,
  tag: TAG,
  tags: TAG,
  impact: oneOf(({ facets }) => [facets.impact]),
  actor: oneOf(({ facets }) => [facets.actor]),
  scopes: SCOPES,
  tier: {
    schema: { enum: TIERS },
    compile:
      (given) =>
      ({ facets }) =>
        given === (typeof given === "number" ? facets.agent?.trustTier : facets.tier),
  },
  is_idempotent: flagOf(({ facets }) => facets.isIdempotent),
  deprecated: flagOf(({ facets }) => facets.isDeprecated),
  callable: flagOf((entry, asker) => entry.accessOf?.(asker).callable),
  status: oneOf(({ facets }) => [facets.status?.()]),
  name: oneOf(({ facets: { agent }, id }) => [agent?.name ?? id]),
  agent_id: oneOf(({ facets }) => [facets.agent?.agentId]),
  principal: oneOf(({ facets: { agent } }) => [agent?.principal, agent?.principalId]),
  owner_id: oneOf(({ facets }) => [facets.agent?.ownerId]),
  geography: oneOf(({ facets }) => memberTexts(facets.agent?.document, "geography")),
  org_domain: oneOf(({ facets }) => memberTexts(facets.agent?.document, "org_domain")),
  governance_zone: oneOf(({ facets }) => zonesOf(facets.agent)),
  trust_tier: TRUST_TIER,
  trust_tier_min: numberOf(
    // Tier 1 is the strongest.
    (given, { facets: { agent } }) => agent !== undefined && agent.trustTier <= given,
    1,
    3,
  ),
  behavioral_trust_min: numberOf((given, { facets }) => trustScore(facets.agent) >= given, 0, 1),
};

const SCHEMAS = Object.entries(RULES).map(([name, { schema }]) => [name, schema] as const);

/** The schema of a filter; closed. */
export const FILTER_SCHEMA: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(SCHEMAS),
  additionalProperties: false,
};

/** Whether a member is a condition. */
export function isFilterName(name: string): boolean {
  return Object.hasOwn(RULES, name);
}

/** Compiles a filter that is valid by its schema. */
export function compileFilter(filter: JsonRecord): Condition {
  const conditions = Object.entries(filter).flatMap(([name, value]) =>
    isFilterName(name) ? (RULES[name]?.compile(value) ?? []) : [],
  );
  return (entry, asker) => conditions.every((holds) => holds(entry, asker));
}

type Values = (entry: SearchEntry) => readonly (string | undefined)[];

/** Letter case does not count. */
function oneOf(valuesOf: Values): FilterRule {
  return {
    schema: TEXTS,
    compile: (value) => {
      const wanted = new Set(readList(value).map((text) => text.toLowerCase()));
      return (entry) =>
        valuesOf(entry).some((text) => text !== undefined && wanted.has(text.toLowerCase()));
    },
  };
}

function flagOf(flag: (entry: SearchEntry, asker: Asker) => boolean | undefined): FilterRule {
  return {
    schema: FLAG,
    compile: (value) => (entry, asker) => flag(entry, asker) === value,
  };
}

function numberOf(
  holds: (given: number, entry: SearchEntry) => boolean,
  minimum: number,
  maximum: number,
): FilterRule {
  return {
    schema: { type: "number", minimum, maximum },
    compile: (value) => (entry) => holds(Number(value), entry),
  };
}

/** A list, or a text with commas; other texts stand for themselves. */
function readList(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(",");
  return list.map((item) => String(item).trim()).filter((item) => item !== "");
}

function memberTexts(document: JsonRecord | undefined, name: string): readonly string[] {
  const value = document?.[name];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string");
}

/** A score counts only with the time that it was computed at.   AGTP-TRUST "Trust Score" */
function trustScore(agent: SearchEntry["facets"]["agent"]): number {
  const { trust_score: score, trust_score_computed_at: computedAt } = agent?.document ?? {};
  return typeof score === "number" && typeof computedAt === "string" ? score : Number.NaN;
}
