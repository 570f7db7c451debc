/** Two workers of a daemon: one chain an agent, one standing of it, whoever is asked. */
import { expect, it } from "vitest";
import { ALICE, BOB } from "../../support/hosted-agents.ts";
import { isSigned, recordOf, walkChain } from "../../support/records.ts";
import {
  askOn,
  bytesOf,
  connectToEach,
  openWorkers,
  PUBLIC_KEY,
  recordsIn,
} from "../../support/workers.ts";

// AGTP-IDENTIFIERS "Attribution Chain"
it("keeps one chain an agent, with every record that a client has seen in it once", async () => {
  const daemon = await openWorkers(2);
  const clients = await connectToEach(daemon, 6);
  const seen = new Map<string, string[]>([
    [ALICE, []],
    [BOB, []],
  ]);
  const processes = new Set<unknown>();
  await Promise.all(
    clients.map(async (client, index) => {
      const agent = index < 4 ? ALICE : BOB;
      let count = 0;
      for (let round = 0; round < 20; round += 1) {
        const batch = 1 + (round % 3);
        for (let more = 0; more < batch; more += 1) client.write(bytesOf(agent, "QUERY", "/lists"));
        count += batch;
        await client.replies(count);
      }
      for (const reply of await client.replies(count)) {
        expect(reply.status).toBe(200);
        processes.add(reply.body["pid"]);
        seen.get(agent)?.push(recordOf(reply).auditId);
      }
    }),
  );
  expect(processes.size).toBe(2);
  const records = recordsIn(daemon);
  for (const [agent, auditIds] of seen) {
    const chain = walkChain(records, agent);
    expect(chain.map(({ auditId }) => auditId).toSorted()).toEqual(auditIds.toSorted());
    for (const { jws } of chain) expect(isSigned(jws, PUBLIC_KEY)).toBe(true);
    const times = chain.map(({ payload }) => String(payload["issued_at"]));
    expect(times).toEqual(times.toSorted());
    // Each worker says the same of where it ends.
    for (const client of clients.slice(0, 2)) {
      const body = { target: "chain_head", agent_id: agent };
      const head = await askOn(client, undefined, "INSPECT", "/", body);
      expect(head?.body["result"]).toMatchObject({ audit_id: chain.at(-1)?.auditId });
    }
  }
});
