/**
 * An endpoint as a searchable entry, with everything that an agent new to this server needs to call it: the pair, the
 * semantic block, both schemas, the errors, the scopes and the caller's access, and an example request.   AGTP
 * "QUERY", AGTP-API §6.2
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-section.ts";
import type { ListedDefinition } from "../../dispatch/tools/tool.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Access, Asker, SearchEntry } from "./entry.ts";
import { type ExampleRequest, exampleRequest, type ServedPairs } from "./example-request.ts";

/** Endpoints of the operator rank before those that every server has. */
const PROMINENCE = { A: 0.5, B: 1 } as const;

/** Builds the entry of an endpoint. */
export function endpointEntry(
  { context, registry }: ServedPairs,
  { tier, definition }: ListedDefinition,
): SearchEntry {
  const { method, path, namespace, semantic, requiredScopes } = definition;
  const access = (asker: Asker) => accessOf(context.config.policies, tier, definition, asker);
  let example: { readonly request: ExampleRequest | undefined } | undefined;
  return {
    kind: "endpoint",
    id: `${method} ${path}`,
    // A getter, since the index reads it only once.
    get texts() {
      return textsOf(definition, context.catalog.verbs.get(method)?.description);
    },
    facets: {
      ...{ method, path, tier, requiredScopes },
      ...(namespace === undefined ? {} : { namespace }),
      capability: semantic.capability,
      impact: semantic.impact,
      actor: semantic.actor,
      isIdempotent: semantic.is_idempotent,
      isDeprecated: definition.deprecated !== undefined,
    },
    prominence: PROMINENCE[tier],
    isVisibleTo: () => true,
    accessOf: access,
    accessClass: accessClassOf(tier, definition),
    show: (asker, format) => {
      const projected = projectEndpoint(definition);
      if (format === "raw") return projected;
      example ??= { request: exampleRequest({ context, registry }, definition) };
      const { request } = example;
      const { callable, missingScopes, obstacles } = access(asker);
      if (format === "natural") {
        return endpointInWords({ definition, request, obstacles, missingScopes });
      }
      return {
        ...projected,
        tier,
        required_scopes: requiredScopes,
        callable,
        missing_scopes: missingScopes,
        obstacles,
        ...(request === undefined ? {} : { example: request }),
      };
    },
  };
}

/** Returns the searchable texts; an endpoint of the protocol has the same text as intent and outcome. */
function textsOf(
  { method, path, description, namespace, semantic, errors, ...rest }: EndpointDefinition,
  meaning: string | undefined,
): SearchEntry["texts"] {
  const { intent, outcome, capability, actor } = semantic;
  const input = schemaWords(rest.inputSchema);
  const output = schemaWords(rest.outputSchema);
  return {
    name: `${method} ${path}`,
    intent,
    description,
    ...(outcome === intent ? {} : { outcome }),
    tags: [namespace, capability, actor, ...errors, ...rest.requiredScopes].join(" "),
    members: `${input.names} ${output.names}`,
    details: `${input.descriptions} ${output.descriptions}`,
    ...(meaning === undefined ? {} : { meaning }),
  };
}

interface ToldEndpoint extends Pick<Access, "missingScopes" | "obstacles"> {
  readonly definition: EndpointDefinition;
  readonly request: ExampleRequest | undefined;
}

/** Describes an endpoint in a paragraph that suffices to call it. */
function endpointInWords(told: ToldEndpoint): string {
  const { definition, request } = told;
  const { method, path, description, semantic, deprecated } = definition;
  return [
    `${method} ${path}: ${sentence(description)}`,
    semantic.outcome === description ? "" : sentence(semantic.outcome),
    `It is ${semantic.impact}.`,
    inputInWords(definition),
    errorsInWords(definition),
    accessInWords(told),
    deprecated === undefined ? "" : `It is deprecated since ${deprecated.deprecated_in}.`,
    request === undefined ? "" : `Example: ${exampleInWords(request)}`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function inputInWords({ inputSchema }: EndpointDefinition): string {
  const properties = Object.entries(propertiesOf(inputSchema));
  const list: readonly unknown[] = Array.isArray(inputSchema["required"])
    ? inputSchema["required"]
    : [];
  const tell = (isRequired: boolean): string =>
    properties
      .filter(([name]) => list.includes(name) === isRequired)
      .map(([name, property]) => memberInWords(name, property))
      .join("; ");
  const [required, optional] = [tell(true), tell(false)];
  return [
    required === "" ? "" : `It requires ${required}.`,
    optional === "" ? "" : `It takes ${optional}.`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function errorsInWords({ errors }: EndpointDefinition): string {
  return errors.length === 0 ? "" : `It may answer ${errors.join(", ")}.`;
}

function accessInWords({ definition, missingScopes, obstacles }: ToldEndpoint): string {
  const { requiredScopes } = definition;
  const needed = requiredScopes.length === 0 ? "" : `It needs ${requiredScopes.join(", ")}. `;
  if (obstacles.length === 0) return `${needed}You can call it.`;
  const missing = missingScopes.length === 0 ? "" : `, missing ${missingScopes.join(", ")}`;
  return `${needed}You cannot call it as you are: ${obstacles.join(", ")}${missing}.`;
}

function exampleInWords({ method, path, body }: ExampleRequest): string {
  return `${method} ${path} ${JSON.stringify(body)}`;
}

const MAX_DEPTH = 3;
const MAX_MEMBERS = 256;

/** Names and descriptions as searchable texts. */
interface SchemaWords {
  readonly names: string;
  readonly descriptions: string;
}

/** Collects the words of a schema: names and descriptions of its members, including nested ones up to a depth. */
function schemaWords(schema: JsonSchema): SchemaWords {
  const names: string[] = [];
  const descriptions: string[] = [];
  const visit = (part: JsonRecord, depth: number): void => {
    for (const [name, property] of Object.entries(propertiesOf(part))) {
      if (names.length === MAX_MEMBERS) return;
      names.push(name);
      if (!isRecord(property)) continue;
      const { description, title, items, enum: values } = property;
      for (const text of [title, description])
        if (typeof text === "string") descriptions.push(text);
      if (Array.isArray(values)) descriptions.push(values.slice(0, MAX_MEMBERS).join(" "));
      if (depth === MAX_DEPTH) continue;
      visit(property, depth + 1);
      if (isRecord(items)) visit(items, depth + 1);
    }
  };
  visit(schema, 0);
  return { names: names.join(" "), descriptions: descriptions.join(" ") };
}

/** Describes one member: `guest_id (string, uuid)`. */
function memberInWords(name: string, property: unknown): string {
  if (!isRecord(property)) return name;
  const { type, format, enum: values } = property;
  const kind = Array.isArray(values)
    ? `one of ${values
        .slice(0, MAX_VALUES)
        .map((value) => JSON.stringify(value))
        .join(", ")}`
    : [type, format]
        .flat()
        .filter((one) => typeof one === "string")
        .join(", ");
  return kind === "" ? name : `${name} (${kind})`;
}

const MAX_VALUES = 12;

/** Endpoints for agents of this server only, with the code of the refusal to others. */
const FOR_KNOWN_AGENTS: ReadonlyMap<string, string> = new Map([
  ...["PROPOSE /", "ESCALATE /", "SUSPEND /", "RESUME /"].map(
    (pair) => [pair, "credentials-missing"] as const,
  ),
  ...["NOTIFY /", "QUERY /inbox"].map((pair) => [pair, "agent-unauthenticated"] as const),
]);

/** Endpoints that show an agent its own data, and an anonymous caller nothing. */
const FOR_NAMED_AGENTS: ReadonlySet<string> = new Set([
  "QUERY /runs/{run_id}",
  "QUERY /runs/{run_id}/events",
]);

/** The policy that the gates apply. */
type AccessPolicy = Pick<
  PoliciesConfig,
  "anonymousDiscovery" | "scopeRequiredForInvocation" | "oauth" | "identity"
>;

/**
 * Predicts the gates' verdict on this caller's call of an endpoint, without calling it: the caller, token and scope
 * gates' rules under the same policy. Further conditions of a method are not covered.
 * AGTP-API §6.4 "required_scopes", §8.7
 */
function accessOf(
  policy: AccessPolicy,
  tier: "A" | "B",
  definition: EndpointDefinition,
  asker: Asker,
): Access {
  const { authority } = asker.caller;
  const { requiredScopes } = definition;
  const obstacles =
    tier === "A" ? obstaclesOfProtocol(policy, definition, asker) : obstaclesOfOperator(asker);
  const needsClaim = tier === "B" || requiredScopes.length > 0;
  const isUnclaimed = asker.caller.agentId !== undefined && authority.source === "none";
  if (needsClaim && isUnclaimed && policy.scopeRequiredForInvocation)
    obstacles.push("scope-required");
  if (lacksToken(policy, definition, asker)) obstacles.unshift("oauth-required");
  const missingScopes = requiredScopes.filter((scope) => !authority.covers(scope));
  if (missingScopes.length > 0) obstacles.push("scope-violation");
  return { callable: obstacles.length === 0, missingScopes, obstacles };
}

/** The inputs of `accessOf`: equal classes have equal access. */
function accessClassOf(
  tier: "A" | "B",
  { method, path, semantic, requiredScopes }: EndpointDefinition,
): string {
  if (tier === "A") return `A ${method} ${path} ${semantic.impact}`;
  return `B ${method} ${requiredScopes.join(" ")}`;
}

function lacksToken(
  { oauth }: AccessPolicy,
  { method }: EndpointDefinition,
  { caller }: Asker,
): boolean {
  return (oauth?.requiredOnMethods.includes(method) ?? false) && caller.principalId === undefined;
}

function obstaclesOfProtocol(
  { anonymousDiscovery, identity }: AccessPolicy,
  { method, path, semantic }: EndpointDefinition,
  { caller, peer }: Asker,
): string[] {
  const toStrangers = FOR_KNOWN_AGENTS.get(`${method} ${path}`);
  if (FLOOR_GROUPS.lifecycle.some((name) => name === method)) {
    const isCertified = peer.certificate !== undefined || identity.lifecycleAuth === "open";
    if (!isCertified) return ["genesis-issuer-cert-required"];
    if (peer.certificate !== undefined) return [];
  }
  if (caller.agentId !== undefined) {
    return caller.document === undefined && toStrangers !== undefined ? [toStrangers] : [];
  }
  const isOwn = toStrangers !== undefined || FOR_NAMED_AGENTS.has(`${method} ${path}`);
  const isOpen = semantic.impact === "informational" && !isOwn;
  if (!isOpen) return ["credentials-missing"];
  return anonymousDiscovery ? [] : ["anonymous-discovery-disabled"];
}

function obstaclesOfOperator({ caller }: Asker): string[] {
  return caller.agentId === undefined ? ["credentials-missing"] : [];
}
