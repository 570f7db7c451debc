/** The record that a chain goes on with behind a gap. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FileJournal } from "../../../src/state/journal/file-journal.ts";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { segmentName } from "../../../src/state/journal/segment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { sha256 } from "../../support/records.ts";

/** A record of an agent; of one turn they are as long as each other. */
function recordOf(agent: string, turn: number): JournalRecord {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const payload = { agent_id: agent, turn: String(turn).padStart(3), filling: "x".repeat(60) };
  const jws = `${encode({ alg: "none" })}.${encode(payload)}.`;
  return { auditId: sha256(jws), jws };
}

/** A journal of small segments in which two agents take turns. */
async function openJournal() {
  const directory = makeDirectory();
  const options = {
    directory,
    segmentBytes: 1_000,
    onFault: (fault: unknown) => expect.fail(String(fault)),
  };
  const journal = await FileJournal.open(options);
  const records: JournalRecord[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const record = recordOf(turn % 2 === 0 ? "even" : "odd", turn);
    records.push(record);
    journal.write([record]);
  }
  await journal.sync();
  return { directory, journal, records };
}

it("is the newest of the agent that stands before the one that names a missing one", async () => {
  const { journal, records } = await openJournal();
  const reader = journal.openReader();
  for (const [turn, { auditId }] of records.entries()) {
    for (const [agent, first] of [
      ["even", 0],
      ["odd", 1],
    ] as const) {
      const before = records.findLastIndex((_, at) => at < turn && at % 2 === first);
      expect(await reader.before?.(agent, auditId)).toEqual(records[before]);
    }
  }
  expect(await reader.before?.("even", undefined)).toEqual(records[18]);
  expect(await reader.before?.("nobody", undefined)).toBeUndefined();
  expect(await reader.before?.("even", "0".repeat(64))).toBeUndefined();
  await journal.close();
});

it("is found behind a line that was changed, by the hash that it has now", async () => {
  const { directory, journal, records } = await openJournal();
  const file = join(directory, segmentName(1));
  const [first, second, third] = records;
  const changed = recordOf("odd", 99);
  expect(changed.jws.length).toBe(second?.jws.length);
  writeFileSync(
    file,
    readFileSync(file, "latin1").replace(String(second?.jws), changed.jws),
    "latin1",
  );
  const reader = journal.openReader();
  expect(await reader.before?.("odd", third?.auditId)).toEqual(changed);
  expect(await reader.before?.("even", changed.auditId)).toEqual(first);
  await journal.close();
});
