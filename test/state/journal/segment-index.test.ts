import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { RecordPlaces } from "../../../src/state/journal/record-places.ts";
import { segmentName } from "../../../src/state/journal/segment.ts";
import { findInIndex, writeIndex } from "../../../src/state/journal/segment-index.ts";
import { makeDirectory } from "../../support/directory.ts";

it("finds every record of a segment, and nothing else", async () => {
  const directory = makeDirectory();
  const ids = Array.from({ length: 3_000 }, (_, index) =>
    createHash("sha256").update(String(index)).digest("hex"),
  );
  const records = new RecordPlaces();
  records.add(
    ids.map((auditId) => ({ auditId, jws: "r".repeat(100) })),
    0,
  );
  writeFileSync(join(directory, segmentName(1)), Buffer.alloc(ids.length * 101));
  await writeIndex(directory, 1, records);
  for (const [index, id] of ids.entries()) {
    expect(await findInIndex(directory, 1, id)).toEqual({ offset: index * 101, length: 100 });
  }
  for (const other of ["f".repeat(64), "0".repeat(64), "", "ab", "no hex"]) {
    expect(await findInIndex(directory, 1, other)).toBeUndefined();
  }
});
