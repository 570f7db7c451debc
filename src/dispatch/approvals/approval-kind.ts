/**
 * The things that CONFIRM can decide: escalations, notifications, runs. Each kind takes the
 * confirmations of its own.   AGTP "CONFIRM"
 */

import type { Call, HandlerResult } from "../../handlers/handler.ts";
import type { Refusal } from "../refusals/refusal.ts";
import type { ExchangeView } from "../routes/route.ts";

/** One kind of things that wait for a decision. */
export interface ApprovalKind {
  /**
   * Undefined: what the call names is of another kind, or must look as if it were; the next one is
   * asked, and 404 is answered where none is left.
   */
  confirm(call: Call, exchange: ExchangeView): Promise<HandlerResult | Refusal | undefined>;
}
