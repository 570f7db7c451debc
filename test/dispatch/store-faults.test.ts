import { describe, expect, it } from "vitest";
import { faultReply } from "../../src/dispatch/invoke.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { makeExchange } from "../support/exchange.ts";

const FAULT = new Error("a handler's own", {
  cause: new StoreUnavailableError("full", new Error("database or disk is full")),
});

describe("a handler that the store failed", () => {
  it.each([
    [false, "store-unavailable"],
    [true, "outcome-unknown"],
  ])(
    "having acted before: %s, is answered 503 %s, and is no fault of its own",
    (hasActed, code) => {
      const exchange = makeExchange();
      exchange.hasActed = hasActed;
      const faults: unknown[] = [];
      const services = { reportFault: (fault: unknown) => void faults.push(fault) };
      const { status, headers, refusal } = faultReply(exchange, services, "it threw", FAULT);
      expect([status, refusal?.code, headers?.["Retry-After"]]).toEqual([503, code, "1"]);
      expect(faults).toEqual([]);
    },
  );
});
