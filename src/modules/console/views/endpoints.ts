/** The served endpoints, trial calls of them, and the agents' contracts. */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { templateNames } from "../../../base/template.ts";
import { actingCaller } from "../../../dispatch/handling/acting.ts";
import type { AssembledDeployment } from "../../../dispatch/module/module.ts";
import type { RegisteredRoute } from "../../../dispatch/routes/route.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import { fillPath } from "../../../endpoint/path-template.ts";
import { projectEndpoint } from "../../../endpoint/project.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { schemaSample } from "../../../schema/schema-sample.ts";
import type { Contract as ContractAnswer, Endpoint, TryAnswer, TryOffer } from "../answers.ts";
import { type ApiRequest, type ApiRoute, get, post, reasonIn, textIn } from "../console-api.ts";
import { found, malformed } from "../console-fault.ts";
import { operatorOfPerson } from "../person.ts";
import { Rows } from "../rows.ts";
import { wayOf } from "./overview.ts";
import type { Sources } from "./sources.ts";

/** `GET /api/endpoints` and `/api/endpoints/{METHOD}/{PATH}` */
export function endpointRoutes({ served }: Sources): readonly ApiRoute[] {
  return [
    get("/endpoints", () => ({ endpoints: new Rows(served().listed, viewOf) })),
    get("/endpoints/:method/*", ({ params }) => {
      const route = namedEndpoint(served(), params);
      const { definition } = route;
      return {
        endpoint: { ...viewOf(route), ...projectEndpoint(definition) },
        input_schema: definition.inputSchema,
        output_schema: definition.outputSchema,
      };
    }),
  ];
}

/** Returns the endpoint that an API path names. @throws ConsoleFault */
function namedEndpoint(
  { listed }: AssembledDeployment,
  params: ApiRequest["params"],
): RegisteredRoute {
  const { method = "", "*": rest = "" } = params;
  return found(findEndpoint(listed, { method, path: `/${rest}` }), "endpoint");
}

/** Finds the endpoint registered for a method and a path. */
export function findEndpoint(
  listed: AssembledDeployment["listed"],
  { method, path }: Pick<RegisteredRoute, "method" | "path">,
): RegisteredRoute | undefined {
  return listed.find((one) => one.method === method && one.path === path);
}

function viewOf({ method, path, tier, definition }: RegisteredRoute): Endpoint {
  const { description, semantic, requiredScopes, approval, deprecated, file } = definition;
  return {
    ...{ method, path, description, tier, impact: semantic.impact },
    is_idempotent: semantic.is_idempotent,
    required_scopes: requiredScopes,
    approval: approval ?? null,
    deprecated: deprecated !== undefined,
    file,
  };
}

/** `/api/contracts` and `/api/contracts/{synthesis_id}` */
export function contractRoutes({ state: { contracts } }: Sources): readonly ApiRoute[] {
  return [
    get("/contracts", () => ({ contracts: new Rows(contracts.eachOpen(), contractView) })),
    post("/contracts/:id", ["action", "reason"], async ({ params, body, act }) => {
      textIn(body, "action", ["withdraw"]);
      const contract = found(contracts.find(params["id"] ?? ""), "contract");
      const named = { target: "contract", synthesis_id: contract.synthesisId };
      return act("REVOKE", { ...named, ...reasonIn(body) });
    }),
  ];
}

function contractView({
  synthesisId,
  agentId,
  endpoint,
  state,
  issuedAt,
  expiresAt,
}: Contract): ContractAnswer {
  return {
    ...{ synthesis_id: synthesisId, agent_id: agentId, status: state },
    ...{ method: endpoint.method, path: endpoint.path, description: endpoint.description },
    created_at: new Date(issuedAt).toISOString(),
    expires_at: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
  };
}

/** Length to which a response body is shown. */
const MAX_SHOWN = 262_144;

/**
 * Trial calls: an operator has an agent of this server make a real call. It passes the gates with the agent's scopes
 * and on its account, and its record stands in the agent's chain and names the person; the person's own rights grant
 * nothing more.
 */
export function tryRoutes(parts: Sources): readonly ApiRoute[] {
  return [
    get("/try/:method/*", ({ params }) => {
      const { definition, path } = namedEndpoint(parts.served(), params);
      return { input: sampleOf(definition.inputSchema, path), agents: speakersOf(parts) };
    }),
    post("/try/:method/*", ["agent_id", "input", "escalation_id"], (request) =>
      tryOut(parts, namedEndpoint(parts.served(), request.params), request),
    ),
  ];
}

/** Agents of this server that are not retired; an operator may act for each of them. */
function speakersOf({ state: { lifecycle }, directory }: Sources): Rows<AgentDocument> {
  const active = directory.list().filter((agent) => lifecycle.statusOf(agent) !== "retired");
  return new Rows(active, (agent): TryOffer["agents"][number] => {
    return { agent_id: agent.agentId, name: agent.name, status: lifecycle.statusOf(agent) };
  });
}

/** A sample input that meets the schema, to start from. */
function sampleOf(schema: JsonRecord, path: string): unknown {
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const whole = { ...schema, required: [...required, ...templateNames(path)] };
  return schemaSample(whole) ?? {};
}

async function tryOut(
  { directory, served }: Sources,
  { method, path: template }: RegisteredRoute,
  { signedIn, body }: ApiRequest,
): Promise<TryAnswer> {
  const agent = found(directory.find(textIn(body, "agent_id")), "agent of this server");
  const { input } = body;
  if (!isRecord(input)) throw malformed("input must be an object");
  const { target, rest } = addressed(template, input);
  const escalationId =
    body["escalation_id"] === undefined ? undefined : textIn(body, "escalation_id");
  const startedAt = performance.now();
  const acted = await served().actAs({
    ...{ caller: actingCaller(agent, agent.scopes), askedBy: operatorOfPerson(signedIn.person) },
    ...{ method, target, input: rest, taskId: undefined, escalationId },
    signal: new AbortController().signal,
  });
  return {
    ...{ method, path: target, status: acted.status, response_id: acted.responseId },
    audit_id: acted.auditId ?? null,
    duration_ms: Math.round((performance.now() - startedAt) * 1000) / 1000,
    gates: wayOf(acted.refusedBy ?? null),
    ...shown(acted.body),
  };
}

/** Fills the path's parameters from the input, and returns the path and the remaining input. */
function addressed(template: string, input: JsonRecord) {
  const names: readonly string[] = templateNames(template);
  const filled = fillPath(template, new Map(Object.entries(input)));
  if (filled.fault !== undefined) throw malformed(filled.fault);
  const rest = Object.entries(input).filter(([name]) => !names.includes(name));
  return { target: filled.path, rest: Object.fromEntries(rest) };
}

function shown(body: unknown): Pick<TryAnswer, "body" | "is_whole"> {
  const text = JSON.stringify(body) ?? "";
  if (text.length <= MAX_SHOWN) return { body: body ?? null, is_whole: true };
  return { body: text.slice(0, MAX_SHOWN), is_whole: false };
}
