/**
 * Asks the client's user about an offered contract. If accepted, the call runs under it; otherwise the answer stays a
 * refusal. A client that cannot ask its user is told how to accept the contract.   MCP "Elicitation", AGTP-API §10.1.3
 */
import { type InputResponses, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { isRecord, parseJson, recordIn, textsIn, valueAt } from "../../../base/json-value.ts";
import type { OfferDecision } from "../../../dispatch/module/module.ts";
import type { ToolCall } from "../ask.ts";
import type { McpRequest } from "../front.ts";
import { answerMeta } from "../tools/answer-meta.ts";
import { type Answered, type Result, refusalResult, successResult } from "../tools/call-result.ts";
import { bodyText } from "../tools/content.ts";
import { contractToolText } from "./own-tools.ts";

export const QUESTION = "contract";

/** Returns the user's decision; undefined if there is none yet. */
export function decisionOf({ inputResponses }: ToolCall): OfferDecision | undefined {
  const response = inputResponse(inputResponses as InputResponses | undefined, QUESTION);
  if (response.kind !== "elicit") return undefined;
  if (response.action === "accept") return "accept";
  // A dismissed question is not an answer: the offer stays.
  return response.action === "decline" ? "decline" : "show";
}

/** The result of a call for which a contract is offered. */
export function offerResult(request: McpRequest, call: ToolCall, answered: Answered): Result {
  const text = bodyText(answered.answer.response);
  const offer = readOffer(parseJson(text));
  const isAnswered = call.requestState !== undefined && decisionOf(call) !== undefined;
  if (offer === undefined || isAnswered) return refusalResult(answered);
  if (!call.canElicit) return withHint(refusalResult(answered), offer);
  const { states } = request.front.contracts;
  const asked = { caller: request.caller.key, tool: call.name, arguments: call.arguments };
  const requestState = states.issue(asked, offer.synthesisId, offer.expiresAt);
  if (requestState === undefined) return refusalResult(answered);
  const question = inputRequired({
    inputRequests: {
      [QUESTION]: inputRequired.elicit({
        message: messageOf(offer),
        requestedSchema: { type: "object", properties: {} },
      }),
    },
    requestState,
  });
  const _meta = { ...answerMeta(answered.answer, answered.serverId, answered.meta) };
  return { ...question, _meta } as unknown as Result;
}

/** The result of an accepted contract, with the tool that it has become. */
export function acceptedResult({ front, caller }: McpRequest, answered: Answered): Result {
  const result = successResult(undefined, answered);
  const made = readOffer(parseJson(bodyText(answered.answer.response)));
  const agentId = caller.fields.get("agent-id") ?? "";
  const name = made && front.contracts.tools.nameOf(agentId, made.synthesisId);
  if (name === undefined) return result;
  return {
    ...result,
    content: [...result.content, { type: "text", text: contractToolText(name) }],
  };
}

interface Offer {
  readonly synthesisId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly pair: string;
  readonly description: string;
  readonly impact: string;
  readonly steps: readonly string[];
}

function readOffer(body: unknown): Offer | undefined {
  if (!isRecord(body) || typeof body["synthesis_id"] !== "string") return undefined;
  const endpoint = recordIn(body["endpoint"]);
  return {
    synthesisId: body["synthesis_id"],
    expiresAt: Date.parse(String(body["expires_at"])),
    pair: `${endpoint["method"]} ${endpoint["path"]}`,
    description: String(endpoint["description"]),
    impact: String(valueAt(endpoint, ["semantic", "impact"])),
    steps: textsIn(valueAt(body, ["contract", "plan_summary"])),
  };
}

function messageOf({ pair, description, impact, steps, expiresAt }: Offer): string {
  const until = new Date(expiresAt).toISOString();
  return `Accept a contract for ${pair}? ${description} It runs ${steps.join(", then ")}. Its effects are ${impact}. It is good until ${until}.`;
}

function withHint(result: Result, { synthesisId, pair }: Offer): Result {
  const text = `A contract for ${pair} can be had. To accept it, make the same call with "io.agtp/contract-synthesized": "${synthesisId}" in _meta.`;
  return { ...result, content: [...result.content, { type: "text", text }] };
}
