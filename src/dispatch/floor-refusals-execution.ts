/** Refusals of EXECUTE.   AGTP "EXECUTE" */
import { type Refusal, refusal } from "./refusal.ts";

/** 404: no endpoint, tool or agent is called so; what comes close is named. */
export function actionNotFound(action: string, suggestions: readonly string[]): Refusal {
  const shown = action.length > 100 ? `${action.slice(0, 100)}…` : action;
  const message = `no action is called ${JSON.stringify(shown)}`;
  return refusal(404, "action-not-found", message, { carried: { action: shown, suggestions } });
}
