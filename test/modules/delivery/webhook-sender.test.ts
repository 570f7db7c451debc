import { describe, expect, it } from "vitest";
import { webhookSignature } from "../../../src/modules/delivery/webhook-sender.ts";

describe("webhookSignature", () => {
  it("is the HMAC of the time and the body under the secret", () => {
    const signature = webhookSignature({
      secret: "s3cret",
      timestamp: 1_780_272_000,
      body: '{"a":1}',
    });
    expect(signature).toBe(
      "t=1780272000,v1=50b69d42858fc3a15b18915098c7a1987e5ea660aa953cbd28fe80f3ddba8be1",
    );
  });
});
