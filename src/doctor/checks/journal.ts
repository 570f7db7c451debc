/** Whether the journal of records is whole, as far as is seen without reading all of it. */
import { join } from "node:path";
import { examineJournal } from "../../attribution/journal-health.ts";
import { journalDirectory } from "../../server/server-state.ts";
import type { Check } from "../finding.ts";
import { nameOf } from "../subject.ts";

/** The check `journal`. */
export const journal: Check = {
  id: "journal",
  asks: "is the journal of records whole?",
  look: (subject) => {
    if (subject.config.store.driver === "memory") return [];
    const directory = journalDirectory(subject.config.directory);
    return examineJournal(directory).map(({ isHarmless, file, message }) => {
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
  },
};
