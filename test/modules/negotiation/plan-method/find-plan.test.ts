import { expect, it } from "vitest";
import type { Caller } from "../../../../src/dispatch/caller/caller.ts";
import {
  findPlan,
  type PlanPlaces,
} from "../../../../src/modules/negotiation/plan-method/find-plan.ts";
import type { GoalMatch } from "../../../../src/modules/negotiation/plan-method/goal-index.ts";
import type { PlanRequest } from "../../../../src/modules/negotiation/plan-method/plan-request.ts";

// A search for each of them takes tens of milliseconds where the endpoints are many.
it("lets others have their turn between the subjects of a goal", () => {
  let searches = 0;
  const missing = { outputs: [], inputs: [], scopes: [] };
  const endpoint = { method: "BOOK", path: "/journeys" };
  const match = { subject: { kind: "endpoint", endpoint }, score: 1, share: 1 } as unknown;
  const places = {
    policies: { scopeRequiredForInvocation: false },
    goals: () => [match, match, match] as GoalMatch[],
    describeValues: () => ({ type: "object" }),
    synthesizer: {
      planCall: () => {
        searches += 1;
        return { kind: "failure", explanation: "no", missing };
      },
    },
  } as unknown as PlanPlaces;
  const request = { words: ["book"], values: {}, notApplied: [] } as unknown as PlanRequest;
  const finding = findPlan(request, { agentId: "a".repeat(64) } as Caller, places);
  for (let turn = 1; turn <= 3; turn += 1) {
    expect(finding.next().done).toBe(false);
    expect(searches).toBe(turn);
  }
  expect(finding.next().done).toBe(true);
});
