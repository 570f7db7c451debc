/** Refusals of EXECUTE.   AGTP "EXECUTE" */
import { type Refusal, refusal } from "./refusal.ts";

/**
 * 404: no endpoint or tool is called so, and no agent that is executed here; what comes close is named.
 * `why`: there is an agent of that name, and it cannot be.
 */
export function actionNotFound(
  action: string,
  suggestions: readonly string[],
  why?: string,
): Refusal {
  const shown = action.length > 100 ? `${action.slice(0, 100)}…` : action;
  const message = why ?? `no action is called ${JSON.stringify(shown)}`;
  return refusal(404, "action-not-found", message, { carried: { action: shown, suggestions } });
}
