/** The body of a floor method's answer: `{status, task_id?, result}`.   AGTP "Response Body" */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { Status } from "../../wire/message.ts";

/** Wraps what a floor method found out or did; `beside` is said again beside the result. */
export function floorResult(
  call: Pick<Call, "taskId">,
  result: unknown,
  status: Status = 200,
  beside: JsonRecord = {},
): HandlerSuccess {
  const { taskId } = call;
  const task = taskId === undefined ? {} : { task_id: taskId };
  return { status, body: { status, ...task, ...beside, result } };
}
