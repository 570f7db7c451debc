import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "../../../src/state/journal/journal.ts";

function record(number: number) {
  return { auditId: String(number).padStart(64, "0"), jws: `record ${number}` };
}

describe("createMemoryJournal", () => {
  it("finds what was written", async () => {
    const journal = createMemoryJournal();
    journal.write([record(1), record(2)]);
    journal.write([record(3)]);
    expect(await journal.find(record(2).auditId)).toBe("record 2");
    expect(await journal.find(record(4).auditId)).toBeUndefined();
    await journal.close();
  });

  it("forgets its oldest records, asked for or not, so that it stays as small as it is", async () => {
    const journal = createMemoryJournal(3);
    journal.write([record(1), record(2), record(3)]);
    await journal.find(record(1).auditId);
    journal.write([record(4)]);
    expect(await journal.find(record(1).auditId)).toBeUndefined();
    expect(await journal.find(record(2).auditId)).toBe("record 2");
  });
});
