/** Whether records can be written for a while: without room for one, nothing is answered. */
import { dirname } from "node:path";
import type { Check, Observation } from "../finding.ts";
import type { Machine } from "../machine.ts";
import { stateDirectory } from "../state-places.ts";
import { nameOf, type Subject } from "../subject.ts";

const MEBIBYTE = 1024 * 1024;
const LITTLE = 1024 * MEBIBYTE;
const NEXT_TO_NOTHING = 128 * MEBIBYTE;
const FEW_FILES = 1_000;
const REMEDY = "make room, or move the deployment to a larger disk";

/** The check `disk-space`. */
export const diskSpace: Check = {
  id: "disk-space",
  asks: "is there room for state and records?",
  look: (subject) => {
    const { config, machine } = subject;
    if (config.store.driver === "memory") return [];
    const places = [stateDirectory(config), dirname(config.store.path)];
    const existing = places.map((path) => existingPart(path, machine));
    return [...new Set(existing)].flatMap((path) => measure(path, subject));
  },
};

/** What is not there yet will be made there. */
function existingPart(path: string, machine: Machine): string {
  return machine.status(path) === undefined && dirname(path) !== path
    ? existingPart(dirname(path), machine)
    : path;
}

function measure(path: string, subject: Subject): readonly Observation[] {
  const { freeBytes, freeFiles } = subject.machine.space(path);
  const place = { file: nameOf(subject, path), key: "", remedy: REMEDY };
  if (freeFiles !== undefined && freeFiles < FEW_FILES) {
    const message = `the file system has room for ${freeFiles} more files`;
    return [{ ...place, severity: "error", message }];
  }
  if (freeBytes >= LITTLE) return [];
  const message = `the file system has ${Math.floor(freeBytes / MEBIBYTE)} MiB left`;
  return [{ ...place, severity: freeBytes < NEXT_TO_NOTHING ? "error" : "warning", message }];
}
