/** A gate: a synchronous decision over tables built at start-up. */
import type { Exchange } from "../exchange.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** Answers with a refusal or with nothing. It never throws for what a client did. */
export type Gate = (exchange: Exchange) => Refusal | undefined;
