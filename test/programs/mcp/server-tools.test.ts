/** The contracts of an agent as tools of `agtp-mcp`.   AGTP-API §5.8.7 */
import { expect, it } from "vitest";
import type { ClientRequest, ClientResponse } from "../../../src/client/agtp-client.ts";
import { ServerContracts } from "../../../src/programs/mcp/server-tools.ts";

const AGENT = "a".repeat(64);

/** The names of the tools, each time that a server is asked which answers one method like this. */
async function namesBy(
  statuses: readonly number[],
  answered = "INSPECT",
): Promise<readonly (readonly string[])[]> {
  const contract = { method: "AUDIT", path: "/reviews", originating_agent_id: AGENT };
  const listed = [{ ...contract, synthesis_id: "s-1", issued_at: "2026-01-01T00:00:00Z" }];
  const endpoint = { input_schema: { type: "object" } };
  const described = { status: 200, result: { target: "contract", endpoint } };
  let status = 200;
  const asked: string[] = [];
  const contracts = new ServerContracts({
    agentId: AGENT,
    ask: async ({ method }: ClientRequest) => {
      asked.push(method);
      const body = method === "DISCOVER" ? listed : described;
      const isGood = method !== answered || status === 200;
      const answer = isGood ? { status: 200, body } : { status, body: { error: { code: "any" } } };
      return answer as ClientResponse;
    },
  });
  const names: string[][] = [];
  for (const one of statuses) {
    status = one;
    names.push((await contracts.tools(() => false)).map(({ name }) => name));
  }
  return [...names, asked.filter((method) => method === "INSPECT")];
}

it("describes a contract once, and again where that could not be said", async () => {
  expect(await namesBy([429, 503, 200, 200])).toEqual([
    ...[[], [], ["audit_reviews"], ["audit_reviews"]],
    ["INSPECT", "INSPECT", "INSPECT"],
  ]);
  expect(await namesBy([403, 200])).toEqual([[], [], ["INSPECT"]]);
});

it("goes on with the contracts of before while the server cannot list them", async () => {
  const names = await namesBy([503, 200, 429, 503, 403, 429], "DISCOVER");
  expect(names.slice(0, -1)).toEqual([
    [],
    ["audit_reviews"],
    ["audit_reviews"],
    ["audit_reviews"],
    [],
    [],
  ]);
});
