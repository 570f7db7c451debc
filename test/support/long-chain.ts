/** A journal with a very long chain, written as a daemon writes it, and much faster. */

import { hash, type KeyObject } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { segmentName } from "../../src/state/journal/segment.ts";
import { NO_AUDIT_ID } from "../../src/state/records/record.ts";
import { createRecordSigner } from "../../src/state/records/sealer.ts";

/** Smaller than a daemon's, so that the chain lies in several. */
const SEGMENT_BYTES = 4 * 1024 * 1024;
const START = Date.UTC(2026, 0, 1);

/** Writes so many signed records of an agent into the state of a deployment that never ran. */
export function writeLongChain(
  directory: string,
  { agentId, key, count }: { agentId: string; key: KeyObject; count: number },
): void {
  const journal = join(directory, ".agtp/journal");
  mkdirSync(journal, { recursive: true, mode: 0o700 });
  const signer = createRecordSigner(key);
  let previous = NO_AUDIT_ID;
  let lines: string[] = [];
  let octets = 0;
  let segment = 1;
  const flush = (): void => {
    writeFileSync(join(journal, segmentName(segment)), lines.join(""), { mode: 0o600 });
    segment += 1;
    lines = [];
    octets = 0;
  };
  for (let index = 0; index < count; index += 1) {
    const jws = signer.sign(
      JSON.stringify({
        ...{ audit_record_version: "1", agent_id: agentId, owner_id: "", server_id: "test" },
        previous_audit_id: previous,
        issued_at: new Date(START + index * 1000).toISOString(),
        ...{ method: "QUERY", path: `/free/${index}`, status: 200 },
      }),
    );
    previous = hash("sha256", jws);
    lines.push(`${jws}\n`);
    octets += jws.length + 1;
    if (octets >= SEGMENT_BYTES) flush();
  }
  if (lines.length > 0) flush();
}
