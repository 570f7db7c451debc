/** The state of a parent that ends while a worker is missing: it is kept all the same. */
import { duplexPair } from "node:stream";
import { expect, it } from "vitest";
import { Link } from "../../../src/base/link.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import { STORE_FAULTS } from "../../../src/state/sharing/link-faults.ts";
import { openSharedState } from "../../../src/state/sharing/open-shared-state.ts";
import { ParentRecords } from "../../../src/state/sharing/parent-records.ts";
import { makeDirectory } from "../../support/directory.ts";
import { sha256 } from "../../support/records.ts";
import { alterStore } from "../../support/store.ts";

/** A record of an agent, as far as a journal reads it. */
function recordOf(agentId: string) {
  const at = "2026-01-01T00:00:00.000Z";
  const said = {
    agent_id: agentId,
    issued_at: at,
    method: "QUERY",
    previous_audit_id: NO_AUDIT_ID,
  };
  const jws = `e30.${Buffer.from(JSON.stringify(said)).toString("base64url")}.`;
  return {
    ...{ jws, auditId: sha256(jws) },
    chain: { agentId, at: Date.parse(at), method: "QUERY" },
  };
}

it("is no fault, and the next start goes on from there", async () => {
  const journalDirectory = makeDirectory();
  const kept = createMemoryStore();
  const store = alterStore(kept, { close: () => Promise.resolve() });
  const faults: unknown[] = [];
  const places = {
    ...{ store, journalDirectory, durability: "process" as const, leaseMs: 300 },
    onFault: (error: unknown) => void faults.push(error),
    onNotice: () => undefined,
  };
  const before = await openSharedState(places);
  const [near, far] = duplexPair();
  const gone = before.shared.serve(new Link(far, STORE_FAULTS), "1");
  const link = new Link(near, STORE_FAULTS);
  await link.ask("join");
  link.tell("serving");
  const record = recordOf("a".repeat(64));
  const expected = new Map([[record.chain.agentId, NO_AUDIT_ID]]);
  await new ParentRecords(link, () => undefined).append({ records: [record], expected });
  // It is lost, and no other has taken its place.
  link.close();
  await gone;
  await before.close();
  const after = await openSharedState(places);
  const [nearer, farther] = duplexPair();
  void after.shared.serve(new Link(farther, STORE_FAULTS), "1");
  const next = new Link(nearer, STORE_FAULTS);
  const joined = await next.ask<{ heads: unknown }>("join");
  expect(joined.heads).toEqual([
    [record.chain.agentId, expect.objectContaining({ auditId: record.auditId })],
  ]);
  next.close();
  await after.close();
  expect(faults).toEqual([]);
});

it("is no fault either while it is asked to store what it made", async () => {
  const faults: unknown[] = [];
  const places = {
    ...{ store: createMemoryStore(), journalDirectory: makeDirectory(), leaseMs: 300 },
    ...{ durability: "process" as const, segmentBytes: 100 },
    onFault: (error: unknown) => void faults.push(error),
    onNotice: () => undefined,
  };
  const state = await openSharedState(places);
  const [near, far] = duplexPair();
  const gone = state.shared.serve(new Link(far, STORE_FAULTS), "1");
  const link = new Link(near, STORE_FAULTS);
  const asked = new Promise<void>((resolve) => {
    const save = () => {
      resolve();
      return new Promise(() => undefined);
    };
    link.serve({ save });
  });
  await link.ask("join");
  link.tell("serving");
  const record = recordOf("a".repeat(64));
  const expected = new Map([[record.chain.agentId, NO_AUDIT_ID]]);
  // The segment is full with it, and a checkpoint is made.
  await new ParentRecords(link, () => undefined).append({ records: [record], expected });
  await asked;
  const saved = state.shared.save();
  link.close();
  await saved;
  await gone;
  await state.close();
  expect(faults).toEqual([]);
});
