/**
 * Agents, recipes and HTTP APIs as searchable entries. A recipe is an unregistered pair for which a contract can be
 * made; one without a pattern matches nothing and is not shown.   AGTP "QUERY", AGTP-API §5.8.5, §5.8.6, §8.6
 */

import { given } from "../../base/json-value.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import { MAX_SOURCE_ENTRIES, type QueryEntry } from "../../dispatch/module/query-source.ts";
import { patternEntry } from "../../endpoint/project.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { SearchContext } from "./config.ts";
import type { Asker, SearchEntry, SearchField } from "./entry.ts";
import { agentTags, isInZones, methodsOf } from "./listed-facets.ts";

/** Orders otherwise equal agents by trust tier. */
const PROMINENCE = { 1: 1, 2: 0.8, 3: 0.6 } as const;

/** Builds the entry of an agent. */
export function agentEntry(context: SearchContext, agent: AgentDocument): SearchEntry {
  const { state } = context;
  const { agentId, document } = agent;
  const status = (): AgentStatus => state.lifecycle.statusOf(agent);
  return {
    kind: "agent",
    id: agentId,
    // A getter, since the index reads it only once.
    get texts() {
      return textsOf(agent);
    },
    facets: { agent, status },
    prominence: PROMINENCE[agent.trustTier],
    isVisibleTo: ({ caller, zones }: Asker) =>
      isDisclosedTo(context, caller.agentId) && isInZones(agent, zones) && status() !== "retired",
    show: (_asker, format) => {
      if (format === "raw") return document;
      const inForm = format === "natural" ? agentInWords : agentSummary;
      return inForm(agent, status());
    },
  };
}

function textsOf(agent: AgentDocument): SearchEntry["texts"] {
  const { name, agentId, description, principal, document, scopes } = agent;
  return {
    name: `${name} ${agentId}`,
    description,
    tags: [...agentTags(agent), principal, "agent"].join(" "),
    details: [...skillDescriptions(document["skills"]), ...methodsOf(agent), ...scopes].join(" "),
  };
}

/** Summarizes an agent, with the request that returns more. */
function agentSummary(agent: AgentDocument, status: AgentStatus): Record<string, unknown> {
  const { agentId, trustWarning, ownerId, governanceZone } = agent;
  return {
    agent_id: agentId,
    name: agent.name,
    description: agent.description,
    principal: agent.principal,
    principal_id: agent.principalId,
    status,
    trust_tier: agent.trustTier,
    verification_path: agent.verificationPath,
    ...given({ trust_warning: trustWarning, owner_id: ownerId, governance_zone: governanceZone }),
    skills: agentTags(agent),
    methods: methodsOf(agent),
    example: { method: "DESCRIBE", path: `/agents/${agentId}`, body: {} },
  };
}

function agentInWords(agent: AgentDocument, status: AgentStatus): string {
  const { name, agentId, description, principal, trustTier } = agent;
  const skills = agentTags(agent);
  return [
    `Agent ${name} (${agentId}) of ${principal}, ${status}, trust tier ${trustTier}: ${description}`,
    ...(skills.length === 0 ? [] : [`It names ${skills.join(", ")}.`]),
    `For more: DESCRIBE /agents/${agentId}`,
  ].join(" ");
}

function skillDescriptions(skills: unknown): readonly string[] {
  if (!Array.isArray(skills)) return [];
  return skills.flatMap((skill: { readonly description?: unknown } | null) =>
    typeof skill?.description === "string" ? [skill.description] : [],
  );
}

/** The scope required to negotiate at the gate.   AGTP-API §10.1.1 */
const NEGOTIATE = "rcns:negotiate";

/** Builds the entry of a recipe; empty if no allowed request can match it. */
export function recipeEntry(context: SearchContext, recipe: Recipe): readonly SearchEntry[] {
  const { pattern, semantic, description, name, version } = recipe;
  if (pattern === undefined || !context.methodPolicy.isAllowed(pattern.methodExact)) return [];
  const path = pattern.pathExact ?? pattern.pathRegex?.source ?? "";
  return [
    {
      kind: "recipe",
      id: `${name}@${version}`,
      texts: {
        name: `${name} ${pattern.methodExact} ${path}`,
        ...(semantic === undefined ? {} : { intent: semantic.intent, outcome: semantic.outcome }),
        description,
        members: pattern.hasParameters.join(" "),
        tags: recipe.requiredScopes.join(" "),
      },
      facets: {
        method: pattern.methodExact,
        requiredScopes: recipe.requiredScopes,
        ...(pattern.pathExact === undefined ? {} : { path: pattern.pathExact }),
        ...(semantic === undefined
          ? {}
          : { capability: semantic.capability, impact: semantic.impact, actor: semantic.actor }),
      },
      prominence: 0.8,
      isVisibleTo: () => true,
      show: (asker, format) => {
        const entry = patternEntry(recipe);
        if (format === "raw") return entry;
        const ways = waysOf(context, asker);
        if (format === "natural") return recipeInWords(recipe, pattern.methodExact, path, ways);
        const missing = recipe.requiredScopes.filter(
          (scope) => !asker.caller.authority.covers(scope),
        );
        return {
          ...entry,
          ...(semantic === undefined ? {} : { semantic }),
          missing_scopes: missing,
          negotiable_by: ways,
        };
      },
    },
  ];
}

/** Lists the ways in which this caller can get a contract. */
function waysOf({ deployment }: SearchContext, { caller }: Asker): readonly string[] {
  if (caller.agentId === undefined) return [];
  const { features } = deployment();
  const isNegotiating = features.includes("rcns") && caller.authority.covers(NEGOTIATE);
  return [
    ...(features.includes("synthesis") ? ["PROPOSE"] : []),
    ...(isNegotiating ? ["Allow-RCNS"] : []),
  ];
}

function recipeInWords(
  { name, version, description, requiredScopes }: Recipe,
  method: string,
  path: string,
  ways: readonly string[],
): string {
  const needs = requiredScopes.length === 0 ? "" : ` It needs ${requiredScopes.join(", ")}.`;
  const how =
    ways.length === 0 ? "You cannot negotiate it as you are." : `By ${ways.join(" or ")}.`;
  return `Recipe ${name} ${version}, for ${method} ${path}: ${description}${needs} ${how}`;
}

/** Builds the entry of an API. */
export function apiEntry(api: ApiEntry): SearchEntry {
  const { name, description = "", base_url: baseUrl = "" } = api;
  return {
    kind: "api",
    id: name,
    texts: { name, description, details: baseUrl, tags: "api http" },
    facets: {},
    prominence: 0.5,
    isVisibleTo: () => true,
    show: (_asker, format) => (format === "natural" ? apiInWords(name, description, baseUrl) : api),
  };
}

function apiInWords(name: string, description: string, baseUrl: string): string {
  return [`HTTP API ${name}`, description, baseUrl].filter((part) => part !== "").join(": ");
}

/** Maximal searched characters of one text, and of all live texts of a question. */
const MAX_SEARCHED_LENGTH = 400;
const MAX_SEARCHED_IN_ALL = 262_144;
const MAX_TOLD_LENGTH = 2000;
const FIELDS: readonly SearchField[] = ["name", "intent", "description", "outcome"];

interface LiveAnswer {
  readonly source: string;
  readonly entries: readonly QueryEntry[];
}

/** Builds entries from the newest items of each live source, which returned them for this caller only. */
export function liveEntries(answers: readonly LiveAnswer[]): readonly SearchEntry[] {
  const shown = answers.map(({ source, entries }) => ({
    source,
    entries: entries.slice(0, MAX_SOURCE_ENTRIES),
  }));
  const count = shown.reduce((sum, { entries }) => sum + entries.length, 0);
  // With many entries, less of each is searched instead of leaving some out.
  const length = Math.min(
    MAX_SEARCHED_LENGTH,
    Math.floor(MAX_SEARCHED_IN_ALL / FIELDS.length / count),
  );
  return shown.flatMap(({ source, entries }) =>
    entries.map((entry) => liveEntry(source, entry, length)),
  );
}

function liveEntry(
  source: string,
  { id, texts, content }: QueryEntry,
  length: number,
): SearchEntry {
  return {
    kind: source,
    id,
    texts: Object.fromEntries(FIELDS.map((field, at) => [field, textOf(texts[at], length)])),
    facets: { tags: [source] },
    prominence: 1,
    isVisibleTo: () => true,
    show: (_asker, format) => (format === "natural" ? sentence(source, texts) : content),
  };
}

function sentence(source: string, texts: readonly unknown[]): string {
  const told = texts.map((text) => textOf(text, MAX_TOLD_LENGTH)).join("; ");
  return `In ${source}: ${told.slice(0, MAX_TOLD_LENGTH)}`;
}

/** Concatenates the scalars within a value, in order, up to a length. */
function textOf(value: unknown, room: number): string {
  let text = "";
  const take = (one: unknown): void => {
    if (text.length >= room) return;
    if (typeof one === "object" && one !== null) Object.values(one).forEach(take);
    else text += `${text === "" ? "" : " "}${one ?? ""}`;
  };
  take(value);
  return text.slice(0, room);
}
