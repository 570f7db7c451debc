/** The body of a floor method's answer: `{status, task_id?, result}`.   AGTP "Response Body" */
import type { Call, HandlerSuccess } from "../handlers/handler.ts";
import type { Status } from "../wire/status.ts";

/** Wraps what a floor method found out or did. */
export function floorResult(
  call: Pick<Call, "taskId">,
  result: unknown,
  status: Status = 200,
): HandlerSuccess {
  const { taskId } = call;
  return { status, body: { status, ...(taskId === undefined ? {} : { task_id: taskId }), result } };
}
