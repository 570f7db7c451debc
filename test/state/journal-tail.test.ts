/** The end of a journal, cut at every octet: a start goes on, or names the record that is lost. */
import { cpSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JournalDamageError } from "../../src/state/journal/journal-damage.ts";
import type { StateNotice } from "../../src/state/notice.ts";
import { openLedger } from "../../src/state/records/open-ledger.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeDraft } from "../support/ledger.ts";
import { readJournal, sha256, walkChain } from "../support/records.ts";
import { makeLastingStore } from "../support/state.ts";

const ALICE = "a".repeat(64);
const SEGMENT = "journal/00000001.jws";

const durability = "power";
const onFault = (error: unknown): never => {
  throw error;
};

/** A deployment whose process was killed behind three records; the second was noted as synced. */
async function makeKilled() {
  const [directory, store] = [makeDirectory(), makeLastingStore()];
  const journalDirectory = join(directory, "journal");
  const opened = await openLedger({ store, journalDirectory, durability, onFault });
  const ids: string[] = [];
  for (let more = 0; more < 3; more += 1) {
    const draft = opened.ledger.add(makeDraft(ALICE));
    await opened.ledger.settled();
    ids.push(draft.auditId);
    if (more === 1) await opened.checkpoint();
  }
  const killed = makeDirectory();
  cpSync(directory, killed, { recursive: true });
  await opened.close();
  return { killed, ids };
}

/** Starts over a copy that is cut, and adds a record to what is left. */
async function startOver(killed: string, length: number) {
  const directory = makeDirectory();
  cpSync(killed, directory, { recursive: true });
  truncateSync(join(directory, SEGMENT), length);
  const notices: StateNotice[] = [];
  const journalDirectory = join(directory, "journal");
  const onNotice = (notice: StateNotice): void => void notices.push(notice);
  const opened = await openLedger({
    ...{ store: makeLastingStore(), journalDirectory, durability, onFault, onNotice },
  });
  const before = opened.ledger.headOf(ALICE)?.auditId;
  opened.ledger.add(makeDraft(ALICE));
  await opened.close();
  return { before, notices, chain: walkChain(readJournal(journalDirectory), ALICE) };
}

describe("a tail that is cut at any octet", () => {
  it("is cut at the last whole record and told of, or the lost record is named", async () => {
    const { killed, ids } = await makeKilled();
    const text = readFileSync(join(killed, SEGMENT), "latin1");
    const [first, synced] = [text.indexOf("\n") + 1, text.lastIndexOf("\n", text.length - 2) + 1];
    const seen = { whole: 0, cut: 0, refused: 0 };
    for (let length = text.length; length > first; length -= 1) {
      const lines = text.slice(0, length).split("\n");
      const rest = lines.pop() ?? "";
      if (length < synced) {
        const refused: unknown = await startOver(killed, length).catch((error) => error);
        expect(refused).toBeInstanceOf(JournalDamageError);
        expect(String(refused)).toContain(ids[1]);
        seen.refused += 1;
        continue;
      }
      const { before, notices, chain } = await startOver(killed, length);
      expect(before).toBe(sha256(lines.at(-1) ?? ""));
      expect(chain).toHaveLength(lines.length + 1);
      const cut = { event: "journal-tail-cut", fields: { octets: rest.length } };
      expect(notices).toMatchObject(rest === "" ? [] : [cut]);
      seen[rest === "" ? "whole" : "cut"] += 1;
    }
    expect(seen).toEqual({ whole: 2, cut: text.length - synced - 1, refused: synced - first - 1 });
  });
});
