/** Whose files a daemon serves by, and whether its state is all of one user's. */
import { servedPaths, statePaths } from "../deployment-paths.ts";
import type { Check, Observation } from "../finding.ts";
import { stateDirectory } from "../state-places.ts";
import { nameOf, type Subject } from "../subject.ts";

const ROOT = 0;

/** The check `ownership`. */
export const ownership: Check = {
  id: "ownership",
  asks: "do the files belong to who should own them?",
  look: (subject) =>
    subject.machine.uid === undefined ? [] : [...checkServed(subject), ...checkState(subject)],
};

/** The owner of the configuration decides what is served; nobody else should own a part of it. */
function checkServed(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config))?.uid;
  const trusted = new Set([ROOT, machine.status(config.file)?.uid, daemon, machine.uid]);
  return servedPaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || trusted.has(owner)) return [];
    const message = `belongs to user ${owner}, who decides what the daemon runs`;
    const remedy = "chown it to whoever owns the configuration";
    return [{ severity: "warning", file: nameOf(subject, path), key: "", message, remedy }];
  });
}

/** A file that another user left there, by starting the daemon once, stops the next start. */
function checkState(subject: Subject): readonly Observation[] {
  const { config, machine } = subject;
  const daemon = machine.status(stateDirectory(config))?.uid;
  if (daemon === undefined) return [];
  return statePaths(subject).flatMap((path) => {
    const owner = machine.status(path)?.uid;
    if (owner === undefined || owner === daemon) return [];
    const message = `belongs to user ${owner}, the state directory to user ${daemon}`;
    const remedy = `chown it to user ${daemon}, and start the daemon as that user only`;
    return [{ severity: "error", file: nameOf(subject, path), key: "", message, remedy }];
  });
}
