/**
 * Whether the journal of records is whole, as far as is seen without reading all of it: by itself, and
 * by what the store knows of it.
 */
import { join } from "node:path";
import { findLosses } from "../../../state/journal-comparison.ts";
import { describeDamage, type JournalDamage } from "../../../state/journal-damage.ts";
import { examineJournal } from "../../../state/journal-health.ts";
import { KNOWN_CHAINS, knownChainsOf } from "../../../state/known-chains.ts";
import { readStoreCopy } from "../../../state/read-copy.ts";
import { findSqliteFault } from "../../../state/sqlite-header.ts";
import { journalDirectory } from "../../../state/state-directory.ts";
import type { Check, Observation } from "../finding.ts";
import { nameOf, type Subject } from "../subject.ts";

const REPAIR =
  "put back a copy of the segment; without one, agtp-keys repair goes on and records the loss";

/** The check `journal`. */
export const journal: Check = {
  id: "journal",
  asks: "is the journal of records whole?",
  look: (subject) => {
    if (subject.config.store.driver === "memory") return [];
    const directory = journalDirectory(subject.config.directory);
    const faults = examineJournal(directory).map(({ isHarmless, file, message }): Observation => {
      return {
        severity: isHarmless ? "note" : "error",
        file: nameOf(subject, join(directory, file)),
        key: "",
        message,
        remedy: isHarmless
          ? "nothing: the next start mends it"
          : "agtp-keys verify --chain says which chains it breaks; put back a copy of the segment",
      };
    });
    const losses = lossesOf(subject, directory).map((damage): Observation => {
      const file = nameOf(subject, join(directory, damage.file));
      const message = describeDamage(damage);
      return { severity: "error", file, key: "", message, remedy: REPAIR };
    });
    return [...losses, ...faults];
  },
};

/** Without a store that can be read, which another check tells of, nothing is known to be lost. */
function lossesOf({ config, machine }: Subject, directory: string): readonly JournalDamage[] {
  const { path } = config.store;
  if (machine.status(path) === undefined || findSqliteFault(path) !== undefined) return [];
  const [heads, checkpoints] = readStoreCopy(path, KNOWN_CHAINS);
  const known = knownChainsOf(heads, checkpoints);
  const placed = [...known.heads].filter(([, { place }]) => place !== undefined);
  return findLosses(directory, { ...known, heads: new Map(placed) });
}
