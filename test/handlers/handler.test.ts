import { describe, expect, it } from "vitest";
import { createRegisteredFunction } from "../../src/handlers/handler.ts";
import { makeCall } from "../support/handler-call.ts";

// AGTP-API §12.2
describe("createRegisteredFunction", () => {
  it("answers what a synchronous function returns, without a promise", () => {
    const handler = createRegisteredFunction(() => ({ body: 1 }));
    expect(handler(makeCall())).toEqual({ body: 1 });
  });

  it("makes a native promise of any other thenable", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const thenable = { then: (resolve: (value: unknown) => void) => resolve({ body: 2 }) };
    const result = createRegisteredFunction(() => thenable)(makeCall());
    expect(result).toBeInstanceOf(Promise);
    expect(await result).toEqual({ body: 2 });
  });
});
