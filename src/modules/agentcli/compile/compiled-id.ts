/** The id that a task is known by in every compiled artifact: it survives renaming and reordering. */
import { sha256Hex } from "../../../identity/canonical-form.ts";

/** The first 32 hex digits over both ids. */
export function compiledId(workflowId: string, taskId: string): string {
  return sha256Hex(`${workflowId}:${taskId}`).slice(0, 32);
}
