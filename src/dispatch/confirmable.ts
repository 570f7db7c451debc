/**
 * The things that CONFIRM can decide. Each keeper of escalations, notifications or runs takes the
 * confirmations of its own.   AGTP "CONFIRM"
 */

import type { Call, HandlerResult } from "../handlers/handler.ts";
import type { Refusal } from "./refusal.ts";
import type { ExchangeView } from "./route.ts";

/** A keeper of things that wait for a decision. */
export interface Confirmable {
  /**
   * Undefined: what the call names is not this keeper's, or must look as if it were not; the next one
   * is asked, and 404 is answered where none is left.
   */
  confirm(call: Call, exchange: ExchangeView): Promise<HandlerResult | Refusal | undefined>;
}
