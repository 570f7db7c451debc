import { describe, expect, it } from "vitest";
import {
  type ProtocolEndpoint,
  protocolRoute,
} from "../../../src/dispatch/routes/protocol-endpoint.ts";

function endpoint(maximum: number): ProtocolEndpoint {
  return {
    ...{ method: "QUERY", path: "/rooms", description: "Finds rooms." },
    ...{ capability: "retrieval", impact: "informational", isListed: true },
    inputSchema: { type: "object", properties: { beds: { type: "integer", maximum } } },
    handler: () => ({ status: 200, body: {} }),
  };
}

describe("an endpoint of the protocol", () => {
  it("has the validator that the deployment before had for the same schema", () => {
    const [first, second] = [protocolRoute(endpoint(4)), protocolRoute(endpoint(4))];
    expect(second.input).toBe(first.input);
    expect(second).not.toBe(first);
  });

  it("has a validator of its own for another schema", () => {
    const [four, six] = [protocolRoute(endpoint(4)), protocolRoute(endpoint(6))];
    expect(four.input.check({ beds: 5 })).toEqual([
      expect.objectContaining({ path: "/beds", keyword: "maximum" }),
    ]);
    expect(six.input.check({ beds: 5 })).toBeUndefined();
  });
});
