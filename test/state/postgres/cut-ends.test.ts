/** Records that were cut off, as a node knows of them where reading takes its time or fails. */
import type { Pool } from "pg";
import { expect, it } from "vitest";
import { signAfter } from "../../../src/state/journal/cut-record.ts";
import { stateLine } from "../../../src/state/moving/state-file.ts";
import { CutEnds } from "../../../src/state/postgres/cut-rows.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";

const [ALICE, BOB, DIGEST] = ["a".repeat(64), "b".repeat(64), "d".repeat(64)];

/** A database in which records of Alice were cut off; `commit` is called at the end of each reading. */
function makePool(commit: () => Promise<void>): Pool {
  const facts = {
    ...{ serverId: "agents.example", at: 9, isArchived: false },
    segments: [{ file: "00000001.jws", bytes: 9, records: 1, sha256: DIGEST }],
    heads: { file: "00000001.heads", sha256: DIGEST, chains: 1 },
  };
  const { jws } = signAfter(undefined, facts, createRecordSigner(makeKeyPair().privateKey));
  const head = { agentId: ALICE, auditId: DIGEST, at: 5, method: "QUERY", sequence: 1 };
  const query = async (sql: string) => {
    if (sql === "COMMIT") await commit();
    if (sql.includes(`'{"cut":%'`)) return { rows: [{ value: stateLine({ kind: "cut", jws }) }] };
    if (!sql.includes(`'{"cut_head":%'`)) return { rows: [] };
    return { rows: [{ name: "cut-line:heads:1", value: stateLine({ kind: "cut-head", head }) }] };
  };
  const client = { query, release: () => undefined };
  return { query, connect: async () => client } as unknown as Pool;
}

it("takes nothing that was cut off for lost, while it is read or after that has failed", async () => {
  let isFailing = true;
  let meanwhile: unknown;
  const ends: CutEnds = new CutEnds(
    makePool(async () => {
      if (!isFailing) return;
      isFailing = false;
      meanwhile = await ends.lost(cutOff);
      throw new Error("the connection has ended");
    }),
    "agtp",
  );
  const cutOff = [{ agentId: ALICE, at: 5 }];
  await expect(ends.lost(cutOff)).rejects.toThrow("the connection has ended");
  expect(meanwhile).toEqual([]);
  expect(await ends.lost(cutOff)).toEqual([]);
  const lost = [
    { agentId: ALICE, at: 6 },
    { agentId: BOB, at: 5 },
  ];
  expect(await ends.lost([...cutOff, ...lost])).toEqual(lost);
});
