import { describe, expect, it } from "vitest";
import { FLOOR_METHODS } from "../../../src/catalog/catalog.ts";
import { ALICE, discoveryFiles } from "../../support/discovery.ts";
import { openServer } from "../../support/dispatch.ts";

const READING = ["QUERY", "DESCRIBE", "INSPECT", "SUMMARIZE", "PLAN"];

// AGTP "Method Floor"
describe("the floor methods", () => {
  it.each(FLOOR_METHODS)("%s is there", async (method) => {
    const server = await openServer(discoveryFiles());
    const { status } = await server.send({ method, headers: { "Agent-ID": ALICE } });
    expect([404, 405, 459, 500, 501]).not.toContain(status);
  });

  it.each(FLOOR_METHODS.filter((name) => name !== "DISCOVER"))(
    "%s asks a caller without an Agent-ID for one, if it changes anything",
    async (method) => {
      const server = await openServer(discoveryFiles());
      const { status, body } = await server.send({ method });
      if (READING.includes(method)) expect([200, 422]).toContain(status);
      else expect(body).toMatchObject({ type: "credentials-missing" });
    },
  );

  it("does not read for strangers where discovery is for identified agents", async () => {
    const server = await openServer(discoveryFiles({ policies: { anonymous_discovery: false } }));
    for (const method of READING) {
      const { body } = await server.send({ method });
      expect(body).toMatchObject({ type: "anonymous-discovery-disabled" });
    }
  });

  it("is admitted by every allow list", async () => {
    const policies = { methods: { allow: ["BOOK"] } };
    const server = await openServer(discoveryFiles({ policies }));
    for (const method of FLOOR_METHODS) {
      const { status } = await server.send({ method, headers: { "Agent-ID": ALICE } });
      expect([405, 459], method).not.toContain(status);
    }
  });
});

// AGTP-API §8.7
describe("PROPOSE", () => {
  it("is refused with 463 before anything else while synthesis is off", async () => {
    const server = await openServer(discoveryFiles({ policies: { synthesis_enabled: false } }));
    const headers = { "Agent-ID": ALICE };
    for (const body of [undefined, {}, { name: "x", parameters: { endpoint: {} } }]) {
      const reply = await server.send({ method: "PROPOSE", headers, body });
      expect(reply.status).toBe(463);
      expect(reply.body).toMatchObject({
        reason: "synthesis-disabled",
        explanation: expect.any(String),
        error: { code: "synthesis-disabled", reason: "synthesis-disabled" },
      });
    }
  });
});
