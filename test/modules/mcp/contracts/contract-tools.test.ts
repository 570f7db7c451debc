/** How contracts are named and listed as tools of their agent.   AGTP-API §10.1.1 */
import { describe, expect, it } from "vitest";
import type { Candidate } from "../../../../src/dispatch/routes/may-call.ts";
import type { Contract } from "../../../../src/endpoint/contract.ts";
import { ContractTools } from "../../../../src/modules/mcp/contracts/contract-tools.ts";
import { SEMANTIC } from "../../../support/negotiation.ts";

const AGENT = "a".repeat(64);
const CALLER = {
  caller: {
    document: { agentId: AGENT },
    authority: { source: "document", scopes: [], covers: (scope: string) => scope !== "secret" },
    principalId: undefined,
  },
  peer: {},
} as unknown as Candidate;

let issued = 0;

function contract(method: string, path: string, more: object = {}): Contract {
  issued += 1;
  const schemas = { input_schema: { type: "object" }, output_schema: {} };
  const about = { description: "", semantic: SEMANTIC, errors: [], required_scopes: [] };
  const endpoint = { method, path, ...schemas, ...about, handler: { type: "composition" } };
  const times = { issuedAt: issued, expiresAt: 10_000 };
  const synthesisId = `syn-${issued}`;
  return { synthesisId, agentId: AGENT, state: "active", endpoint, ...times, ...more } as never;
}

/** The tools over some contracts, the oldest first, at a moment. */
function toolsOver(contracts: Contract[], taken: readonly string[] = [], clock = { now: 0 }) {
  let revision = 0;
  const tools = new ContractTools({
    register: { ofAgent: () => contracts, revisionOf: () => revision },
    routes: { routeOf: ({ synthesisId }) => ({ route: synthesisId }) as never },
    rules: { scopeRequiredForInvocation: true, tokenMethods: new Set() },
    isTaken: (name) => taken.includes(name),
    now: () => clock.now,
  });
  const namesNow = (): readonly string[] => tools.withOwn([], CALLER).map(({ name }) => name);
  return {
    tools,
    namesNow,
    change: () => {
      revision += 1;
    },
  };
}

describe("ContractTools", () => {
  it("names a contract as an endpoint would be named", () => {
    const { namesNow } = toolsOver([contract("AUDIT", "/reviews/{id}/notes")]);
    expect(namesNow()).toEqual(["audit_reviews_notes"]);
  });

  it("leaves the tools of everybody their names", () => {
    const taken = ["audit_reviews"];
    const { namesNow } = toolsOver(
      [contract("AUDIT", "/reviews/{id}"), contract("AUDIT", "/reviews")],
      taken,
    );
    expect(namesNow()).toEqual([
      expect.stringMatching(/^audit_reviews_[0-9a-f]{8}$/),
      "audit_reviews_by_id",
    ]);
  });

  it("leaves an older contract its name, also while it is only remembered", () => {
    const older = contract("AUDIT", "/reviews/{id}");
    const contracts = [older, contract("AUDIT", "/reviews")];
    const { namesNow, change } = toolsOver(contracts);
    const [first, second = ""] = namesNow();
    expect(first).toBe("audit_reviews");
    expect(second).toMatch(/^audit_reviews_[0-9a-f]{8}$/);
    contracts[0] = { ...older, state: "revoked" };
    change();
    expect(namesNow()).toEqual([second]);
  });

  it("calls the newest contract of a pair", () => {
    const [older, newer] = [contract("AUDIT", "/reviews"), contract("AUDIT", "/reviews")];
    const { tools, namesNow } = toolsOver([older, newer]);
    expect(namesNow()).toEqual(["audit_reviews"]);
    expect(tools.find(AGENT, "audit_reviews")?.contract).toBe(newer);
    expect(tools.nameOf(AGENT, older.synthesisId)).toBeUndefined();
  });

  it("has nothing that is over, as soon as it is", () => {
    const clock = { now: 0 };
    const brief = contract("AUDIT", "/brief", { expiresAt: 500 });
    const contracts = [brief, contract("AUDIT", "/long")];
    const { tools, namesNow } = toolsOver(contracts, [], clock);
    expect(namesNow()).toEqual(["audit_brief", "audit_long"]);
    expect(tools.validUntil(AGENT)).toBe(500);
    clock.now = 500;
    contracts[0] = { ...brief, state: "expired" };
    expect(namesNow()).toEqual(["audit_long"]);
    expect(tools.find(AGENT, "audit_brief")).toBeUndefined();
  });

  it("lists what the caller's scopes reach, in the order of names, the same list each time", () => {
    const { endpoint } = contract("AUDIT", "/secrets");
    const secret = contract("AUDIT", "/secrets", {
      endpoint: { ...endpoint, required_scopes: ["secret"] },
    });
    const contracts = [contract("ORDER", "/z"), secret, contract("AUDIT", "/a")];
    const { tools, namesNow } = toolsOver(contracts);
    expect(namesNow()).toEqual(["audit_a", "order_z"]);
    const others: never[] = [];
    expect(tools.withOwn(others, CALLER)).toBe(tools.withOwn(others, CALLER));
  });

  it("makes tools of the newest, as many as are bearable", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => contract("AUDIT", `/n${index}`));
    const { namesNow } = toolsOver(many);
    expect(namesNow()).toHaveLength(200);
    expect(namesNow()).toContain("audit_n999");
    const { endpoint } = contract("AUDIT", "/long");
    const description = "x".repeat(100_000);
    const long = Array.from({ length: 20 }, (_, index) =>
      contract("AUDIT", `/l${index}`, {
        endpoint: { ...endpoint, path: `/l${index}`, description },
      }),
    );
    expect(toolsOver(long).namesNow()).toHaveLength(10);
  });
});
