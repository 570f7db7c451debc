/** Whether the database is one, by its header alone: a daemon may have it open. */
import { dirname } from "node:path";
import { findSqliteFault } from "../../../state/sqlite-header.ts";
import { journalDirectory } from "../../../state/state-directory.ts";
import type { Check } from "../finding.ts";
import { nameOf } from "../subject.ts";

/** The check `state-file`. */
export const stateFile: Check = {
  id: "state-file",
  asks: "is the database whole?",
  look: (subject) => {
    const { config, machine } = subject;
    if (config.store.driver !== "sqlite") return [];
    const { path } = config.store;
    const place = { file: nameOf(subject, path), key: "" };
    if (machine.status(path) !== undefined) {
      const fault = findSqliteFault(path);
      if (fault === undefined) return [];
      const remedy = `stop the daemon and put back a copy of ${dirname(place.file)}, journal and all`;
      return [{ ...place, severity: "error", message: fault, remedy }];
    }
    if (machine.status(journalDirectory(config.directory)) === undefined) return [];
    const message = "does not exist, though there is a journal: contracts and revocations are lost";
    const remedy = "put back a copy; without one, the chains at least are read from the journal";
    return [{ ...place, severity: "error", message, remedy }];
  },
};
