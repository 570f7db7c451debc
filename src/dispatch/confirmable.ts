/**
 * What CONFIRM can be said of: whoever keeps something that waits for a word, an escalation, a
 * notification, a run, takes the confirmations of what is its own.   AGTP "CONFIRM"
 */

import type { Call, HandlerResult } from "../handlers/handler.ts";
import type { Refusal } from "./refusal.ts";
import type { ExchangeView } from "./route.ts";

/** A keeper of things that wait. */
export interface Confirmable {
  /**
   * Undefined: what the call names is not this keeper's, or must look as if it were not; the next one
   * is asked, and 404 is answered where none is left.
   */
  confirm(call: Call, exchange: ExchangeView): Promise<HandlerResult | Refusal | undefined>;
}
