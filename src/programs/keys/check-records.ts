/** Verifies Attribution-Records, one a line: a record of a response, or a segment of a journal. */
import { hash } from "node:crypto";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { verifyRecord } from "../../state/records/verify-record.ts";
import { passkeyCheck } from "./check-passkey.ts";
import type { Check, FileReport } from "./checks.ts";

/** Another writer of such files marks each line with what it holds. */
const MARK = /^jws:/;

/** Verifies the records of a file. */
export function checkRecords(
  text: string,
  file: string,
  keys: readonly Ed25519PublicKey[],
): FileReport {
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  const checks =
    lines.length === 1
      ? checkOne(lines[0] ?? "", keys)
      : [
          ...checkMany(lines, keys),
          { check: "form", outcome: "ok", message: lineCount(lines) } as const,
        ];
  return { file, kind: "attribution-records", checks };
}

function checkOne(line: string, keys: readonly Ed25519PublicKey[]): readonly Check[] {
  const jws = line.trim().replace(MARK, "");
  const signature = signatureCheck(jws, keys);
  const auditId = { check: "audit-id", outcome: "ok", message: hash("sha256", jws) } as const;
  return [signature, ...[passkeyCheck(jws) ?? []].flat(), auditId];
}

/** Every line that fails; of those that do not, how many there are of each kind. */
function checkMany(lines: readonly string[], keys: readonly Ed25519PublicKey[]): readonly Check[] {
  const failed: Check[] = [];
  const others = new Map<string, { check: Check; count: number }>();
  for (const [index, line] of lines.entries()) {
    const jws = line.trim().replace(MARK, "");
    for (const check of [signatureCheck(jws, keys), passkeyCheck(jws) ?? []].flat()) {
      if (check.outcome === "failed") {
        failed.push({ ...check, message: `line ${index + 1}: ${check.message}` });
        continue;
      }
      const other = others.get(check.message) ?? { check, count: 0 };
      others.set(check.message, { check, count: other.count + 1 });
    }
  }
  const counted = [...others.values()].map(({ check, count }) => ({
    ...check,
    message: `${count} records: ${check.message}`,
  }));
  return [...failed, ...counted];
}

function lineCount(lines: readonly string[]): string {
  return `${lines.length} lines`;
}

function signatureCheck(jws: string, keys: readonly Ed25519PublicKey[]): Check {
  const check = "signature";
  const verdict = verifyRecord(jws, keys);
  switch (verdict.kind) {
    case "verified":
      return { check, outcome: "ok", message: `by ${verdict.kid}` };
    case "unchecked":
      return { check, outcome: "skipped", message: "no --key to check it with" };
    case "unsigned": {
      // A person who names a key wants to know that it was used.
      const outcome = keys.length === 0 ? "warning" : "failed";
      return { check, outcome, message: "the record is not signed, anybody could have written it" };
    }
    case "malformed-record":
    case "bad-signature":
    case "unknown-key":
      return { check, outcome: "failed", message: `the record ${verdict.fault}` };
  }
}
