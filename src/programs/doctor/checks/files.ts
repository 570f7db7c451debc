/** Files that others can write or own: those that are served, and the state. */
import { stateDirectory } from "../../../state/state-directory.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { servedPaths, statePaths } from "../deployment-paths.ts";

/** In the order in which they are asked. */
export const FILES_CHECKS: readonly Check[] = [
  // Others than their owners can write served files, or read the state.
  {
    id: "file-permissions",
    asks: "who else can change what is served, or read what is kept?",
    look: (subject) =>
      subject.machine.uid === undefined ? [] : [...writableServed(subject), ...openState(subject)],
  },
  // Served files, or the state, belong to another user.
  {
    id: "ownership",
    asks: "do the files belong to who should own them?",
    look: (subject) =>
      subject.machine.uid === undefined
        ? []
        : [...foreignServed(subject), ...foreignState(subject)],
  },
];

/** A writer there has code run by the daemon. */
function writableServed(subject: Subject): readonly Observation[] {
  return servedPaths(subject).flatMap((path): readonly Observation[] => {
    const mode = subject.machine.status(path)?.mode ?? 0;
    const place = { file: nameOf(subject, path), key: "" };
    const hint = `chmod go-w ${place.file}`;
    // In a directory with the sticky bit nobody replaces the files of another.
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
      const message = "can be written by everybody, who then decides what the daemon runs";
      return [{ ...place, severity: "error", message, hint }];
    }
    if ((mode & 0o020) === 0) return [];
    const message = "can be written by its group, whose members decide what the daemon runs";
    return [{ ...place, severity: "note", message, hint }];
  });
}

function openState(subject: Subject): readonly Observation[] {
  return statePaths(subject).flatMap((path): readonly Observation[] => {
    const status = subject.machine.status(path);
    if (status === undefined) return [];
    const { mode, isDirectory } = status;
    const place = { file: nameOf(subject, path), key: "" };
    const hint = `chmod ${isDirectory ? "700" : "600"} ${place.file}`;
    if ((mode & 0o022) !== 0) {
      const message = "is the daemon's state and can be written by others";
      return [{ ...place, severity: "error", message, hint }];
    }
    if (isDirectory || (mode & 0o044) === 0 || !isSecret(path)) return [];
    const message = "is the daemon's state and can be read by others";
    return [{ ...place, severity: "warning", message, hint }];
  });
}

/** Certificates and public halves are for everybody; keys have a check of their own. */
function isSecret(path: string): boolean {
  return /\.(?:db|db-wal|db-shm|jws|idx)$|segments\.json$/.test(path);
}

const ROOT = 0;

/** The owner of the configuration decides what is served; nobody else should own a part of it. */
function foreignServed(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config.directory))?.uid;
  const trusted = new Set([ROOT, machine.status(config.file)?.uid, daemon, machine.uid]);
  return servedPaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || trusted.has(owner)) return [];
    const message = `belongs to user ${owner}, who decides what the daemon runs`;
    const hint = "chown it to whoever owns the configuration";
    return [{ severity: "warning", file: nameOf(subject, path), key: "", message, hint }];
  });
}

/** A file that another user left there, by starting the daemon once, stops the next start. */
function foreignState(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config.directory))?.uid;
  if (daemon === undefined) return [];
  return statePaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || owner === daemon) return [];
    const message = `belongs to user ${owner}, the state directory to user ${daemon}`;
    const hint = `chown it to user ${daemon}, and start the daemon as that user only`;
    return [{ severity: "error", file: nameOf(subject, path), key: "", message, hint }];
  });
}
