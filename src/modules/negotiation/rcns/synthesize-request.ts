/**
 * Synthesizes what a request for an unregistered pair asks for, and reads its input as the plan
 * takes it. 464 where nothing can be composed · 262 where the agent's scopes do not cover every
 * step · 422 an input that the plan would not take.   AGTP-API §10.1.2, §10.1.3
 */

import type { Attempts } from "../../../dispatch/contracts/attempts.ts";
import {
  authorizationRequired,
  type Refusal,
  schemaViolation,
} from "../../../dispatch/refusals/refusal.ts";
import { refuseContract } from "../../../dispatch/refusals/refuse-contract.ts";
import type { ExchangeView } from "../../../dispatch/routes/route.ts";
import type { SynthesisPlan, Synthesizer } from "../../../endpoint/synthesis-plan.ts";
import type { Call } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../../../schema/schema-bounds.ts";
import { readProposedSchema } from "../propose/proposed-schema.ts";
import { inputSchemaOf, proposalOfRequest, readQuery } from "./unregistered-request.ts";

/** The parts that synthesize a request. */
export interface RequestSynthesis {
  readonly synthesizer: Synthesizer;
  readonly attempts: Attempts;
  /** Tells why a pair may never be an endpoint: it is the protocol's own. */
  reservation(method: string, path: string): string | undefined;
  /** Hears of a fault of the synthesis; the caller learns only that there was one. */
  onFault(error: unknown): void;
}

/** The most inputs of a request, and of a proposal. */
const MAX_INPUTS = PROPOSED_SCHEMA_BOUNDS.maxProperties;

/** The plan of a request, or why there is none. */
type Synthesized =
  | {
      readonly kind: "planned";
      readonly plan: SynthesisPlan;
      readonly inputSchema: JsonSchema;
      /** The input that was sent, as this schema reads it. */
      readonly input: Call["input"];
    }
  | Refusal;

/** Synthesizes a request. */
export function synthesizeRequest(
  { synthesizer, attempts, reservation, onFault }: RequestSynthesis,
  call: Call,
  exchange: ExchangeView,
): Synthesized {
  const { method, path, caller } = exchange;
  const impossible = (explanation: string): Refusal =>
    refuseContract(exchange, attempts, "composition-impossible", explanation);
  const reserved = reservation(method, path);
  if (reserved !== undefined) return impossible(reserved);
  const sent = Object.keys(call.input).length;
  if (sent > MAX_INPUTS) {
    return impossible(`the request has ${sent} parameters, expected at most ${MAX_INPUTS}`);
  }
  try {
    const outcome = synthesizer.plan(proposalOfRequest(call, exchange), caller.authority);
    if (outcome.kind !== "failure") {
      if (!isWhatWasAsked(outcome, method)) {
        return impossible(`no recipe answers ${method} ${path}, and no other ${method} would do`);
      }
      const read = readProposedSchema(inputSchemaOf(call.input, outcome), "input_schema");
      if ("fault" in read) return impossible(`the parameters' schema ${read.fault.message}`);
      const inputSchema = read.schema.schema;
      const input = readQuery(call, inputSchema);
      // As the gate would, had the contract been there before.
      const violations = read.schema.check(input);
      if (violations !== undefined) return schemaViolation(violations);
      return { kind: "planned", plan: outcome, inputSchema, input };
    }
    if (outcome.reason === "scope-required") {
      const { scopes } = outcome.missing;
      return authorizationRequired("scope-required", outcome.explanation, {
        ...(scopes[0] === undefined ? {} : { scope: scopes[0] }),
        details: { missing_scopes: scopes },
      });
    }
    return impossible(outcome.explanation);
  } catch (error) {
    onFault(error);
    return refuseContract(exchange, attempts, "synthesis-error", "the synthesis failed");
  }
}

/**
 * Without a word on outputs, only what an operator wrote down for the pair, or the same method
 * elsewhere, can be taken for what was asked.
 */
function isWhatWasAsked({ kind, recipe }: SynthesisPlan, method: string): boolean {
  if (kind === "recipe") return true;
  return kind === "passthrough" && recipe.steps[0]?.method === method;
}
