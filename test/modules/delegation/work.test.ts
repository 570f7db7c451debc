/** A task that an agent of this server does, and what is known of it when it fails. */
import { expect, it } from "vitest";
import { refusalBody } from "../../../src/dispatch/refusals/refusal.ts";
import {
  storeOutcomeUnknown,
  storeUnavailable,
} from "../../../src/dispatch/refusals/store-refusals.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import type { Performance } from "../../../src/modules/delegation/delegate.ts";
import { TaskTime } from "../../../src/modules/delegation/outcome.ts";
import { work } from "../../../src/modules/delegation/work.ts";
import { BOB } from "../../support/delegation.ts";

const BOB_HIMSELF = { agentId: BOB } as AgentDocument;
const CALL = { steps: [{ action: "BOOK /rooms", input: {} }], isSequence: false };

it.each([
  ["unknown", storeOutcomeUnknown()],
  ["failed", storeUnavailable()],
])("is %s where the agent was answered so", async (outcome, refused) => {
  const answer = { status: refused.status, body: refusalBody(refused) };
  const acted = { ...answer, auditId: undefined, responseId: "r-1", refusedBy: undefined };
  const options = {
    actAs: () => Promise.resolve(acted),
    resolver: { resolve: () => ({ method: "BOOK", path: "/rooms" }) },
    isFloor: () => false,
  } as unknown as Parameters<typeof work>[0];
  const performed = await TaskTime.of(Infinity, new AbortController().signal, (time) =>
    work(options, BOB_HIMSELF, {
      ...{ hop: { delegation: { links: [] } }, request: { task: CALL }, time },
    } as unknown as Performance),
  );
  expect(performed).toMatchObject({ kind: "failed", refusal: { carried: { outcome } } });
});
