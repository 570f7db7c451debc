/**
 * Describes a request without the secrets in it: callers of some endpoints write a credential where
 * a name belongs, and it is neither sent back nor kept.   OpenWOP SR-1
 */
import type { Refusal } from "./refusals/refusal.ts";

/** Takes secrets out of texts and values. */
export interface Concealment {
  text(text: string): string;
  /** A copy of a JSON value. */
  value(value: unknown): unknown;
}

/** The part of a route that says how it conceals. */
interface Concealing {
  readonly concealment?: Concealment | undefined;
}

/** The refusal as it may be sent; most endpoints conceal nothing. */
export function concealRefusal(refusal: Refusal, route: Concealing | undefined): Refusal {
  const concealment = route?.concealment;
  if (concealment === undefined) return refusal;
  // The texts were put together with what is concealed.
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
