/** Whatever is asked, the pipeline answers; whatever a composition does, it does with no more authority. */
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isStatus } from "../../src/wire/message.ts";
import { anyRequest, encodeAnyRequest } from "../support/any-request.ts";
import {
  configFile,
  copyDeployment,
  createDeployment,
  ECHO_MODULE,
  endpointFile,
  type TestDeployment,
} from "../support/deployment.ts";
import { createServer, type TestReply, type TestServer } from "../support/dispatch.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const FIXTURE = join(import.meta.dirname, "../exchanges/deployment");
function expectAnswer({ status, headers: fields, text }: TestReply): void {
  expect(isStatus(status)).toBe(true);
  expect(fields.get("server-id")).toBe("fixture.example");
  expect(fields.get("response-id")).toMatch(UUID_V7);
  expect(fields.get("content-length")).toBe(String(Buffer.byteLength(text)));
  expect(() => JSON.parse(text)).not.toThrow();
}

describe("any request at all", () => {
  let deployment: TestDeployment;
  let server: TestServer;
  beforeAll(async () => {
    deployment = copyDeployment(FIXTURE);
    server = await createServer(deployment);
  });
  afterAll(async () => {
    await server.close();
    deployment.remove();
  });

  it("is answered with a known status and both ids, and is never a fault", async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (one) => {
        const faultsBefore = server.faults.length;
        expectAnswer(await server.send(encodeAnyRequest(one)));
        expect(server.faults.slice(faultsBefore)).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });

  it("is answered the same, however it arrives", async () => {
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRequest, { minLength: 1, maxLength: 3 }),
        cuts,
        async (requests, at) => {
          const bytes = Buffer.from(requests.map(encodeAnyRequest).join(""), "latin1");
          const points = [
            0,
            ...at.filter((point) => point < bytes.length).toSorted((a, b) => a - b),
            bytes.length,
          ];
          const pieces = points.slice(1).map((end, index) => bytes.subarray(points[index], end));
          const whole = await server.exchange([bytes], true);
          const split = await server.exchange(pieces, true);
          expect(split.map(({ status }) => status)).toEqual(whole.map(({ status }) => status));
        },
      ),
      { numRuns: 200 },
    );
  });
});

// AGTP-API §12.1
describe("a composition", () => {
  const REQUIRED = [["a:read"], ["a:write"], ["a:read", "b:read"], ["a:b:c"], ["b:*"], []];
  let deployment: TestDeployment;
  let server: TestServer;
  beforeAll(async () => {
    const vaults = REQUIRED.map((scopes, index) => [
      `endpoints/vault-${index}.toml`,
      endpointFile({ method: "QUERY", path: `/vaults/v${index}`, required_scopes: scopes }),
    ]);
    const properties = { vault: { type: "string" } };
    deployment = createDeployment({
      "agtp-server.toml": configFile({ policies: { identity: { unknown_agents: "accept" } } }),
      "handlers.mjs": `${ECHO_MODULE}
        export const relay = async ({ dispatch, input }) => ({
          body: await dispatch("QUERY", "/vaults/" + input.vault),
        });`,
      ...Object.fromEntries(vaults),
      "endpoints/relay.toml": endpointFile({
        method: "EXECUTE",
        path: "/passes",
        properties,
        handler: { type: "registered_function", function: "handlers.relay" },
      }),
      "endpoints/audit.toml": endpointFile({
        method: "AUDIT",
        path: "/vaults",
        properties,
        errors: ["composition_failed"],
        handler: { type: "composition", recipe: "open" },
      }),
      "recipes/open.toml": `
        [[recipe]]
        name = "open"
        version = "1"
        description = "Open the vault that the caller names."
        [[recipe.steps]]
        method = "QUERY"
        path = "/vaults/{vault}"
        parameters.vault = { kind = "proposal", value = "vault" }
      `,
    });
    server = await createServer(deployment);
  });
  afterAll(async () => {
    await server.close();
    deployment.remove();
  });

  it("never reaches what its caller could not reach directly", async () => {
    const token = fc.constantFrom(
      "a:read",
      "a:write",
      "b:read",
      "a:*",
      "b:*",
      "*:read",
      "a:b:c",
      "a:b:*",
      "*:*",
    );
    const claim = fc.array(token, { maxLength: 4 });
    const vault = fc.integer({ min: 0, max: REQUIRED.length - 1 }).map((index) => `v${index}`);
    await fc.assert(
      fc.asyncProperty(claim, vault, async (scopes, name) => {
        const fields = { "Agent-ID": "e".repeat(64), "Authority-Scope": scopes.join(", ") };
        const ask = (verb: string, target: string, input?: object) =>
          server.send({
            method: verb,
            path: target,
            headers: fields,
            ...(input && { body: input }),
          });
        const direct = await ask("QUERY", `/vaults/${name}`);
        const relayed = await ask("EXECUTE", "/passes", { vault: name });
        const composed = await ask("AUDIT", "/vaults", { vault: name });
        expect([200, 455]).toContain(direct.status);
        expect(relayed.body["status"]).toBe(direct.status);
        const { error } = composed.body;
        const composedStatus = error === undefined ? composed.status : error["details"]?.["status"];
        expect(composedStatus).toBe(direct.status);
      }),
      { numRuns: 150 },
    );
  });
});
