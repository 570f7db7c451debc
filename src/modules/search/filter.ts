/**
 * Filters: conditions that a result must meet, whatever its words. One of several values suffices for a condition; all
 * conditions must hold, and an absent value meets none. Unknown conditions are refused (422): ignoring one would show
 * too much.
 * AGTP "DISCOVER" filter
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { compileGrants, type Grants } from "../../identity/authority-scope.ts";
import { trustScoreOf } from "../../identity/trust-posture.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Asker, SearchEntry } from "./entry.ts";
import type { ListedFacet } from "./listed-facets.ts";

/** True if an entry meets a condition for this caller. */
export type Condition = (entry: SearchEntry, asker: Asker) => boolean;

export interface ListedCondition {
  readonly facet: ListedFacet;
  readonly values: readonly string[];
}

/** A compiled filter. */
export interface Filter {
  /** Conditions on listed facets; each must hold. */
  readonly listed: readonly ListedCondition[];
  readonly meets: Condition;
}

type Rule = { readonly schema: JsonSchema } & (
  | { readonly facet: ListedFacet }
  /** Compiles the condition for a given value. */
  | { readonly compile: (value: unknown) => Condition }
);

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

const METHOD = oneOf("method");
const CAPABILITY = oneOf("capability");
const TAG = oneOf("tag");
const TRUST_TIER = numberOf((given, entry) => entry.facets.agent?.trustTier === given, 1, 3);
const PATH: Rule = {
  schema: TEXTS,
  compile: (value) => {
    const beginnings = readList(value);
    return ({ facets: { path } }) => beginnings.some((beginning) => path?.startsWith(beginning));
  },
};
const SCOPES: Rule = {
  schema: TEXTS,
  compile: (value) => {
    const scopes = readList(value);
    const grants = remembering(compileGrants(scopes));
    // Ten thousand agents share few distinct scope lists, so each list is judged once.
    const holders = new Map<Grants, boolean>();
    const holdsAll = (agent: AgentDocument): boolean => {
      const held = grantsOf(agent);
      const known = holders.get(held) ?? scopes.every((scope) => held.covers(scope));
      holders.set(held, known);
      return known;
    };
    // Matches endpoints that can be called with these scopes, and agents that hold all of them.
    return ({ facets: { requiredScopes, agent } }) => {
      if (agent !== undefined) return holdsAll(agent);
      return requiredScopes?.every((scope) => grants.covers(scope)) ?? false;
    };
  },
};

const MAX_GRANTS = 16_384;
const grantsByText = new Map<string, Grants>();
const grantsByList = new WeakMap<readonly string[], Grants>();

/** Returns an agent's grants, compiled once per list of scopes. */
function grantsOf({ scopes }: AgentDocument): Grants {
  const seen = grantsByList.get(scopes);
  if (seen !== undefined) return seen;
  const text = scopes.join(" ");
  if (grantsByText.size === MAX_GRANTS) grantsByText.clear();
  const grants = grantsByText.get(text) ?? compileGrants(scopes);
  grantsByText.set(text, grants);
  grantsByList.set(scopes, grants);
  return grants;
}

/** Caches the verdict per scope: ten thousand endpoints require few distinct ones. */
function remembering({ covers }: Grants): Grants {
  const known = new Map<string, boolean>();
  return {
    covers: (scope) => {
      const isCovered = known.get(scope) ?? covers(scope);
      known.set(scope, isCovered);
      return isCovered;
    },
  };
}

/** The conditions by their names on the wire. */
const RULES: Readonly<Record<string, Rule>> = {
  kind: oneOf("kind"),
  method: METHOD,
  methods: METHOD,
  path: PATH,
  path_prefix: PATH,
  namespace: oneOf("namespace"),
  capability: CAPABILITY,
  capabilities: CAPABILITY,
  tag: TAG,
  tags: TAG,
  impact: oneOf("impact"),
  actor: oneOf("actor"),
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
  callable: {
    schema: FLAG,
    compile: (value) => {
      const byClass = new Map<string, boolean | undefined>();
      return (entry, asker) => {
        const { accessClass } = entry;
        if (accessClass === undefined) return entry.accessOf?.(asker).callable === value;
        const known = byClass.get(accessClass) ?? entry.accessOf?.(asker).callable;
        byClass.set(accessClass, known);
        return known === value;
      };
    },
  },
  status: {
    schema: TEXTS,
    compile: (value) => {
      const wanted = new Set(readList(value).map((text) => text.toLowerCase()));
      return ({ facets }) => wanted.has(facets.status?.().toLowerCase() ?? "");
    },
  },
  name: oneOf("name"),
  agent_id: oneOf("agent_id"),
  principal: oneOf("principal"),
  owner_id: oneOf("owner_id"),
  geography: oneOf("geography"),
  org_domain: oneOf("org_domain"),
  governance_zone: oneOf("governance_zone"),
  trust_tier: TRUST_TIER,
  trust_tier_min: numberOf(
    // Tier 1 is the strongest.
    (given, { facets: { agent } }) => agent !== undefined && agent.trustTier <= given,
    1,
    3,
  ),
  behavioral_trust_min: numberOf(
    (given, { facets: { agent } }) => (trustScoreOf(agent?.document ?? {}) ?? Number.NaN) >= given,
    0,
    1,
  ),
};

const SCHEMAS = Object.entries(RULES).map(([name, { schema }]) => [name, schema] as const);

/** The schema of a filter; unknown members are refused. */
export const FILTER_SCHEMA: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(SCHEMAS),
  additionalProperties: false,
};

/** True if a condition has this name. */
export function isFilterName(name: string): boolean {
  return Object.hasOwn(RULES, name);
}

/** Compiles a filter that is valid by its schema. */
export function compileFilter(filter: JsonRecord): Filter {
  const listed: ListedCondition[] = [];
  const conditions: Condition[] = [];
  for (const [name, value] of Object.entries(filter)) {
    const rule = isFilterName(name) ? RULES[name] : undefined;
    if (rule === undefined) continue;
    if ("facet" in rule) listed.push({ facet: rule.facet, values: readList(value) });
    else conditions.push(rule.compile(value));
  }
  return { listed, meets: (entry, asker) => conditions.every((holds) => holds(entry, asker)) };
}

/** Compares case-insensitively. */
function oneOf(facet: ListedFacet): Rule {
  return { schema: TEXTS, facet };
}

function flagOf(flag: (entry: SearchEntry, asker: Asker) => boolean | undefined): Rule {
  return {
    schema: FLAG,
    compile: (value) => (entry, asker) => flag(entry, asker) === value,
  };
}

function numberOf(
  holds: (given: number, entry: SearchEntry) => boolean,
  minimum: number,
  maximum: number,
): Rule {
  return {
    schema: { type: "number", minimum, maximum },
    compile: (value) => (entry) => holds(Number(value), entry),
  };
}

/** Reads a list, or splits a text at commas; any other value becomes its text. */
export function readList(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(",");
  return list.map((item) => String(item).trim()).filter((item) => item !== "");
}
