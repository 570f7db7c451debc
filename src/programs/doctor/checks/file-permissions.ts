/** Who beside their owners can write the files that a daemon serves by, or read what it keeps. */
import { servedPaths, statePaths } from "../deployment-paths.ts";
import type { Check, Observation } from "../finding.ts";
import { nameOf, type Subject } from "../subject.ts";

/** The check `file-permissions`. */
export const filePermissions: Check = {
  id: "file-permissions",
  asks: "who else can change what is served, or read what is kept?",
  look: (subject) =>
    subject.machine.uid === undefined ? [] : [...checkServed(subject), ...checkState(subject)],
};

/** Whoever writes there has code run by the daemon. */
function checkServed(subject: Subject): readonly Observation[] {
  return servedPaths(subject).flatMap((path): readonly Observation[] => {
    const mode = subject.machine.status(path)?.mode ?? 0;
    const place = { file: nameOf(subject, path), key: "" };
    const remedy = `chmod go-w ${place.file}`;
    // In a directory with the sticky bit nobody replaces the files of another.
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
      const message = "can be written by everybody, who then decides what the daemon runs";
      return [{ ...place, severity: "error", message, remedy }];
    }
    if ((mode & 0o020) === 0) return [];
    const message = "can be written by its group, whose members decide what the daemon runs";
    return [{ ...place, severity: "note", message, remedy }];
  });
}

function checkState(subject: Subject): readonly Observation[] {
  return statePaths(subject).flatMap((path): readonly Observation[] => {
    const status = subject.machine.status(path);
    if (status === undefined) return [];
    const { mode, isDirectory } = status;
    const place = { file: nameOf(subject, path), key: "" };
    const remedy = `chmod ${isDirectory ? "700" : "600"} ${place.file}`;
    if ((mode & 0o022) !== 0) {
      const message = "is the daemon's state and can be written by others";
      return [{ ...place, severity: "error", message, remedy }];
    }
    if (isDirectory || (mode & 0o044) === 0 || !isSecret(path)) return [];
    const message = "is the daemon's state and can be read by others";
    return [{ ...place, severity: "warning", message, remedy }];
  });
}

/** Certificates and public halves are for everybody; keys have a check of their own. */
function isSecret(path: string): boolean {
  return /\.(?:db|db-wal|db-shm|jws|idx)$|segments\.json$/.test(path);
}
