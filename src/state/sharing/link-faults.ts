/** Encodes store faults for the link between processes. */
import type { FaultCodec } from "../../base/link.ts";
import { reasonOf } from "../../base/thrown.ts";
import { UnknownOutcomeError } from "../records/record-store.ts";
import { type StoreFaultKind, StoreUnavailableError } from "../store-fault.ts";

/** An encoded fault. */
type LinkFault =
  | { readonly kind: "store"; readonly store: StoreFaultKind; readonly reason: string }
  | { readonly kind: "unknown-outcome" | "other"; readonly reason: string };

/** Preserves the distinctions that matter to the server's answers. */
export const STORE_FAULTS: FaultCodec = {
  encode(error): LinkFault {
    if (error instanceof StoreUnavailableError) {
      return { kind: "store", store: error.kind, reason: reasonOf(error.cause) };
    }
    const kind = error instanceof UnknownOutcomeError ? "unknown-outcome" : "other";
    return { kind, reason: reasonOf(error) };
  },
  decode(fault) {
    const told = fault as LinkFault;
    switch (told.kind) {
      case "store":
        return new StoreUnavailableError(told.store, new Error(told.reason));
      case "unknown-outcome":
        return new UnknownOutcomeError(new Error(told.reason));
      case "other":
        return new Error(told.reason);
    }
  },
};
