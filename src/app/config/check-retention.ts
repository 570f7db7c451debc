/** Rules of `[attribution.retention]`.   AGTP-IDENTIFIERS "Audit Log" */
import { statSync } from "node:fs";
import { sep } from "node:path";
import { journalDirectory } from "../../state/state-directory.ts";
import type { CrossCheck } from "./cross-check.ts";

/** Somebody has to say what is too old or too much. */
export const retentionCheck: CrossCheck = {
  sections: ["attribution"],
  check: ({ attribution, directory }, report) => {
    const limits = attribution.retention;
    if (limits === undefined) return;
    const key = "attribution.retention";
    if (limits.days === undefined && limits.bytes === undefined) {
      report(key, "must have days or bytes: nothing is ever too old or too much without both");
    }
    const fault = limits.archive && findArchiveFault(limits.archive, journalDirectory(directory));
    if (fault) report(`${key}.archive`, `"${limits.archive}" ${fault}`);
  },
};

/** A directory that is not there is made when the first segment goes. */
function findArchiveFault(archive: string, journal: string): string | undefined {
  if (archive === journal || archive.startsWith(`${journal}${sep}`)) {
    return "must be outside the journal itself";
  }
  const status = statSync(archive, { throwIfNoEntry: false });
  return status === undefined || status.isDirectory() ? undefined : "must be a directory";
}
