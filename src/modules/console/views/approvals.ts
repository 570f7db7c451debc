/** Escalations that await a decision, and the decision. */
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import {
  type Escalation,
  escalationView,
  isOpen,
  VERDICTS,
  type Verdict,
} from "../../../state/registers/escalation.ts";
import { type ApiRoute, get, post, reasonIn, textIn } from "../console-api.ts";
import { found } from "../console-fault.ts";
import { ANSWERS, answerIn, confirmSigned } from "../passkey-desk.ts";
import type { Role } from "../person.ts";
import { Rows } from "../rows.ts";
import type { Sources } from "./sources.ts";

const MAX_DECIDED = 100;

/** `/api/approvals` and `/api/approvals/{escalation_id}` */
export function approvalRoutes(parts: Sources): readonly ApiRoute[] {
  return [
    get("/approvals", ({ signedIn }) => list(parts, signedIn.person.role)),
    get("/approvals/:id", ({ signedIn, params }) =>
      show(parts, find(parts, params["id"]), signedIn.person.role),
    ),
    post("/approvals/:id", ["decision", "reason", ...ANSWERS, "assertion"], async (request) => {
      const { params, body } = request;
      const escalation = find(parts, params["id"]);
      const status = textIn(body, "decision", VERDICTS) as Verdict;
      const asked = { request, input: { ...reasonIn(body), ...answerIn(body) } };
      const result = await confirmSigned(parts.desk, escalation, status, asked);
      return { escalation: result["escalation"] ?? result };
    }),
  ];
}

function find({ state }: Sources, id = ""): Escalation {
  return found(state.escalations.find(id), "escalation");
}

function list(parts: Sources, role: Role): object {
  const all = parts.state.escalations.list();
  const decided = all.filter((one) => !isOpen(one)).slice(0, MAX_DECIDED);
  const rowOf = (one: Escalation): JsonRecord => viewOf(parts, one, listedContext(one, role));
  return { waiting: new Rows(all.filter(isOpen), rowOf), decided: new Rows(decided, rowOf) };
}

/** View of an escalation with the given context, or part of one. */
function viewOf({ directory }: Sources, one: Escalation, context: unknown): JsonRecord {
  const name = directory.find(one.agentId)?.name ?? null;
  return { ...escalationView(one), context, agent_name: name };
}

function show(parts: Sources, escalation: Escalation, role: Role): object {
  const agent = parts.directory.find(escalation.agentId);
  const last = lastApproved(parts, escalation);
  return {
    escalation: viewOf(parts, escalation, shownContext(escalation, role)),
    agent:
      agent === undefined
        ? null
        : {
            ...{ agent_id: agent.agentId, name: agent.name },
            ...{ status: parts.state.lifecycle.statusOf(agent), trust_tier: agent.trustTier },
          },
    last_approved: last === undefined ? null : viewOf(parts, last, shownContext(last, role)),
  };
}

/** Finds the last approved call of the same endpoint by the same agent. */
function lastApproved({ state }: Sources, escalation: Escalation): Escalation | undefined {
  const wanted = pairOf(escalation);
  if (wanted === undefined) return undefined;
  return state.escalations
    .list()
    .find(
      (one) =>
        one.escalationId !== escalation.escalationId &&
        one.agentId === escalation.agentId &&
        one.status === "accepted" &&
        pairOf(one) === wanted,
    );
}

function pairOf(escalation: Escalation): string | undefined {
  const call = callOf(escalation);
  return call && `${String(call["method"])} ${String(call["path"])}`;
}

/** Returns the call to approve; an agent's own escalation has none, whatever its context says. */
function callOf({ approval, context }: Escalation): JsonRecord | undefined {
  const call = approval === undefined ? undefined : recordIn(context)["call"];
  return isRecord(call) ? call : undefined;
}

/** Characters of JSON; a longer context has a page of its own, since all contexts may be 128 MB. */
const MAX_LISTED_CONTEXT = 4_096;

/** The context for a list; a long one is reduced to the method and path of its call. */
function listedContext(escalation: Escalation, role: Role): unknown {
  const context = shownContext(escalation, role);
  if ((JSON.stringify(context) ?? "").length <= MAX_LISTED_CONTEXT) return context;
  const { method, path } = callOf(escalation) ?? {};
  return method === undefined ? null : { call: { method, path } };
}

function shownContext(escalation: Escalation, role: Role): unknown {
  return role === "operator" ? escalation.context : concealed(escalation);
}

/** Placeholder of inputs, which viewers may not see. */
const CONCEALED = "[operators only]";

/** Hides the input of a call, or the whole context if an agent wrote it. */
function concealed(escalation: Escalation): unknown {
  const call = callOf(escalation);
  const { kind } = recordIn(escalation.context);
  return call === undefined ? CONCEALED : { kind, call: { ...call, input: CONCEALED } };
}
