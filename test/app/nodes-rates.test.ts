/** Rates of two daemons over one PostgreSQL: together they give what a limit says, and all of it. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { ALICE, BOB, delegationFiles } from "../support/delegation.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import { type NodeFiles, startNodes, type TestNode } from "../support/nodes.ts";
import { PATIENT_CLUSTER } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { refusalOf } from "../support/waiting.ts";

const A_SECOND = 60;
/** Of NOTIFY. */
const A_MINUTE = 120;
/** Until it hears of the other a node gives the whole rate, and what is saved up. */
const BEGINNING_MS = 3_000;
const WATCHED_MS = 6_000;
const PAUSE_MS = 2;
/** Between two requests that one of two nodes gives. */
const ITS_SHARE_MS = 2_000 / A_SECOND;

const files: NodeFiles = ({ cluster, ...tables }) =>
  delegationFiles({
    ...tables,
    cluster: { ...cluster, ...PATIENT_CLUSTER },
    limits: { requests_per_second: A_SECOND, work_ms_per_second: 0 },
  });

const telling: TestRequest = { method: "NOTIFY", body: { recipient: BOB, content: "hello" } };
const looking: TestRequest = { method: "QUERY", path: "/counts" };

const isSpent = (reply: TestReply): boolean => refusalOf(reply).join(" ") === "429 rate-limited";

/** Notifies until the node refuses; answers how often it did not. */
async function tellAll({ ask }: TestNode, pauseMs: number): Promise<number> {
  for (let given = 0; ; given += 1) {
    const reply = await ask(ALICE, telling);
    if (isSpent(reply)) return given;
    expect(reply.status, reply.text).toBe(200);
    await delay(pauseMs);
  }
}

/**
 * Asks a node again and again for so long; answers how often it was served, how often not, and for how long it was
 * not asked what it had to give: a busy machine keeps the one who asks waiting.
 */
async function lookFor({ ask }: TestNode, milliseconds: number) {
  const counts = { served: 0, refused: 0, unaskedMs: 0 };
  let before = performance.now();
  for (const until = before + milliseconds; performance.now() < until; ) {
    const now = performance.now();
    counts.unaskedMs += Math.max(0, now - before - ITS_SHARE_MS);
    before = now;
    const reply = await ask(ALICE, looking);
    if (isSpent(reply)) counts.refused += 1;
    else {
      expect(reply.status, reply.text).toBe(200);
      counts.served += 1;
    }
    await delay(PAUSE_MS);
  }
  return counts;
}

describeWithPostgres("two nodes", () => {
  // `[limits] requests_per_second`
  it("give a payer a rate once, by the minute and by the second", async () => {
    const [a, b] = await startNodes(await postgres().makeDatabase(), files);
    expect(await tellAll(a, 15)).toBe(A_MINUTE);
    // Alone it would give as much again.
    const more = await tellAll(b, 50);
    expect(more).toBeLessThan(A_MINUTE / 2);
    for (const { ask } of [a, b, a, b]) expect(isSpent(await ask(ALICE, telling))).toBe(true);

    const both = (milliseconds: number) =>
      Promise.all([lookFor(a, milliseconds), lookFor(b, milliseconds)]);
    await both(BEGINNING_MS);
    const begun = performance.now();
    const counts = await both(WATCHED_MS);
    const most = ((performance.now() - begun) / 1_000) * A_SECOND;
    const served = counts.reduce((sum, one) => sum + one.served, 0);
    const asked = counts.reduce((sum, { refused }) => sum + refused, served);
    // As of one daemon: who asked for less, or was kept from it, may have saved as much up, a second's worth at most.
    const unasked = counts.reduce((sum, { unaskedMs }) => sum + unaskedMs, 0) / 1_000;
    const saved = asked > 2 * most ? 0.1 * most + unasked * A_SECOND : A_SECOND;
    expect(served).toBeLessThan(most + Math.min(saved, A_SECOND));
    expect(served).toBeGreaterThan(0.8 * Math.min(asked, most));
  });
});
