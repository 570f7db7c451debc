/**
 * The things that CONFIRM can decide: escalations, notifications, runs. Each kind takes the
 * confirmations of its own.   AGTP "CONFIRM"
 */

import type { HandlerResult } from "../../handlers/handler.ts";
import type { Refusal } from "../refusals/refusal.ts";
import type { CausingRequest } from "../stream-events.ts";
import type { Confirmation } from "./confirmation.ts";

/**
 * Undefined: what is confirmed is of another kind, or must look as if it were; the next one is
 * asked, and 404 is answered where none is left.
 */
export type Confirmed = Promise<HandlerResult | Refusal | undefined>;

/** One kind of things that wait for a decision. */
export interface ApprovalKind {
  /** `byNext` has the kinds after this one decide, for one that has its part to do afterwards. */
  confirm(confirmation: Confirmation, source: CausingRequest, byNext: () => Confirmed): Confirmed;
}

/** The answer of the first kind that has one. */
export async function confirmBy(
  [kind, ...rest]: readonly ApprovalKind[],
  confirmation: Confirmation,
  source: CausingRequest,
): Confirmed {
  const byNext = () => confirmBy(rest, confirmation, source);
  return kind && ((await kind.confirm(confirmation, source, byNext)) ?? byNext());
}
