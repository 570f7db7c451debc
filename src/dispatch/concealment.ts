/**
 * Conceals secrets in descriptions of a request: callers of some endpoints put a credential where a
 * name belongs, and it must be neither sent back nor stored.   OpenWOP SR-1
 */
import type { Refusal } from "./refusals/refusal.ts";

/** Removes secrets from texts and values. */
export interface Concealment {
  text(text: string): string;
  /** Returns a copy of a JSON value without secrets. */
  value(value: unknown): unknown;
}

/** The part of a route that holds its concealment. */
interface Concealing {
  readonly concealment?: Concealment | undefined;
}

/** Returns the refusal as it may be sent; most endpoints conceal nothing. */
export function concealRefusal(refusal: Refusal, route: Concealing | undefined): Refusal {
  const concealment = route?.concealment;
  if (concealment === undefined) return refusal;
  // The prepared texts contain the secrets, so they are dropped.
  const { details, carriedText: _c, text: _t, carried, ...kept } = refusal;
  return {
    ...kept,
    message: concealment.text(refusal.message),
    ...(details === undefined ? {} : { details: concealment.value(details) }),
    ...(carried === undefined
      ? {}
      : { carried: concealment.value(carried) as NonNullable<Refusal["carried"]> }),
  };
}
