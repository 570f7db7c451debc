/**
 * Try: an operator has an agent of this server make a real call. It passes the gates with the agent's
 * scopes and on its account, its record stands in the agent's chain and names the person; who the
 * person is opens nothing that the agent may not have.
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { templateNames } from "../../../base/template.ts";
import { actingCaller } from "../../../dispatch/handling/acting.ts";
import type { AssembledDeployment } from "../../../dispatch/module/module.ts";
import type { RegisteredRoute } from "../../../dispatch/routes/route.ts";
import { fillPath } from "../../../endpoint/path-template.ts";
import type { AgentDirectory } from "../../../identity/agent-directory.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { schemaSample } from "../../../schema/schema-sample.ts";
import type { ServerState } from "../../../state/state.ts";
import { type ApiRequest, type ApiRoute, textIn } from "../console-api.ts";
import { malformed, unknown } from "../console-fault.ts";
import { operatorOfPerson } from "../person.ts";
import { namedEndpoint } from "./endpoints.ts";
import { wayOf } from "./traffic-routes.ts";

/** The sources of these routes. */
export interface TryParts {
  readonly state: Pick<ServerState, "lifecycle">;
  readonly directory: AgentDirectory;
  served(): AssembledDeployment;
}

/** An answer is shown up to here. */
const MAX_SHOWN = 262_144;

/** `GET /api/try/{METHOD}/{PATH}` and `POST` to the same: `{agent_id, input, escalation_id}` */
export function tryRoutes(parts: TryParts): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/try/:method/*",
      answer: ({ params }) => {
        const { definition, path } = namedEndpoint(parts.served(), params);
        return { input: sampleOf(definition.inputSchema, path), agents: speakersOf(parts) };
      },
    },
    {
      method: "POST",
      path: "/try/:method/*",
      answer: (request) => tryOut(parts, namedEndpoint(parts.served(), request.params), request),
    },
  ];
}

/** Agents of this server that are not retired: an operator may have each of them act. */
function speakersOf({ state, directory }: TryParts): readonly object[] {
  return directory.list().flatMap((agent) => {
    const status = state.lifecycle.statusOf(agent);
    return status === "retired" ? [] : [{ agent_id: agent.agentId, name: agent.name, status }];
  });
}

/** An input that the schema describes, to begin with. */
function sampleOf(schema: JsonRecord, path: string): unknown {
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const whole = { ...schema, required: [...required, ...templateNames(path)] };
  return schemaSample(whole) ?? {};
}

async function tryOut(
  { directory, served }: TryParts,
  { method, path: template }: RegisteredRoute,
  { signedIn, body }: ApiRequest,
): Promise<object> {
  const agent = speakerIn(directory, body);
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

function speakerIn(directory: AgentDirectory, body: JsonRecord): AgentDocument {
  const agent = directory.find(textIn(body, "agent_id"));
  if (agent === undefined) throw unknown("agent of this server");
  return agent;
}

/** The path with its values, which the input has beside the others. */
function addressed(template: string, input: JsonRecord) {
  const names: readonly string[] = templateNames(template);
  const filled = fillPath(template, new Map(Object.entries(input)));
  if (filled.fault !== undefined) throw malformed(filled.fault);
  const rest = Object.entries(input).filter(([name]) => !names.includes(name));
  return { target: filled.path, rest: Object.fromEntries(rest) };
}

function shown(body: unknown): object {
  const text = JSON.stringify(body) ?? "";
  if (text.length <= MAX_SHOWN) return { body: body ?? null, is_whole: true };
  return { body: text.slice(0, MAX_SHOWN), is_whole: false };
}
