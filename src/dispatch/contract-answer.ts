/**
 * The answer under a contract. One that is not what its agent asked for fails the
 * composition at its last step, and is told with it: the steps have done their work, and the schema
 * is the agent's own, so that nobody else could say what is wrong.   AGTP-API §10.1.5, §12.1
 */

import type { Contract } from "../endpoint/contract.ts";
import { type HandlerResult, type HandlerSuccess, isHandlerError } from "../handlers/handler.ts";
import type { CompiledSchema } from "../schema/schema.ts";
import { namedError, type Refusal } from "./refusal.ts";

/** A result as it is, unless the contract's output schema does not describe it. */
export function asAgreed(
  result: HandlerResult,
  { name, steps }: Contract["plan"],
  output: CompiledSchema,
): HandlerResult {
  if (isHandlerError(result)) return result;
  const errors = output.check(result.body);
  if (errors === undefined) return result;
  const message = "the answer is not what the contract's output_schema describes";
  const last = steps.at(-1);
  return {
    error: "composition_failed",
    message,
    details: {
      ...{ recipe: name, step: steps.length, method: last?.method, path: last?.path },
      ...{ status: 200, error: { code: "output-validation-failed", message, errors } },
      outputs: { answer: result.body },
    },
  };
}

/** Every answer under a contract says which one, failures too. */
export function withContract(result: HandlerResult, synthesisId: string): HandlerSuccess | Refusal {
  const header = { "Contract-Synthesized": synthesisId };
  if (!isHandlerError(result)) return { ...result, headers: { ...result.headers, ...header } };
  const { error, message, details } = result;
  return { ...namedError(error, message, details), headers: header };
}
