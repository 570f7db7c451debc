/** Checks of the state: records, the database, the journal, and the space for them. */
import { dirname, join } from "node:path";
import { findLosses } from "../../../state/journal/journal-comparison.ts";
import { describeDamage, type JournalDamage } from "../../../state/journal/journal-damage.ts";
import { examineJournal } from "../../../state/journal/journal-health.ts";
import { listSegments, segmentName } from "../../../state/journal/segment.ts";
import { readStoreCopy } from "../../../state/moving/read-copy.ts";
import { KNOWN_CHAINS, knownChainsOf } from "../../../state/records/known-chains.ts";
import { describeLogDamage } from "../../../state/sqlite/file.ts";
import { findSqliteFault } from "../../../state/sqlite/header.ts";
import { findLogDamage } from "../../../state/sqlite/log.ts";
import { journalDirectory, stateDirectory } from "../../../state/state-directory.ts";
import { type Check, nameOf, type Observation, type Subject, settingCheck } from "../check.ts";
import type { Machine } from "../machine.ts";

/** The checks, in the order in which they run. */
export const STATE_CHECKS: readonly Check[] = [
  // Records prove nothing.   AGTP-IDENTIFIERS "Attribution-Record"
  settingCheck(
    "signing-key",
    "are records made, and signed?",
    "signing.key",
    ({ config: { signing, attribution } }) => {
      if (!attribution.enabled) {
        const message = "is false: no response has a record of who asked for what";
        return { key: "attribution.enabled", message, hint: "set it to true" };
      }
      if (signing.key !== undefined) return undefined;
      return {
        message: 'is missing: records have alg "none" and prove nothing',
        hint: 'agtp-keys signing, then key = ".agtp/keys/signing.pem" under [signing]',
      };
    },
  ),
  // The state does not outlive the process, or no daemon would start with the named database.
  settingCheck("store", "is state kept?", "store.driver", ({ config, database }) => {
    const fault = database?.survey?.startFault;
    if (fault !== undefined) {
      const { key, hint = "mend it, or a daemon will not start", message } = fault;
      return { severity: "error", key: `store.${key}`, message, hint };
    }
    if (config.store.driver !== "memory") return undefined;
    return {
      message: 'is "memory": records, contracts and revocations end with the process',
      hint: 'set it to "sqlite"',
    };
  }),
  // The database is damaged; only its header and log are read, because a daemon may have it open.
  {
    id: "state-file",
    asks: "is the database whole?",
    look: (subject) => {
      const { config, machine } = subject;
      if (config.store.driver !== "sqlite") return [];
      const { path } = config.store;
      const place = { file: nameOf(subject, path), key: "" };
      if (machine.status(path) !== undefined) {
        const fault = findSqliteFault(path);
        const damage = fault === undefined ? findLogDamage(path) : undefined;
        if (damage !== undefined) {
          const message = describeLogDamage(path, damage);
          return [{ ...place, severity: "error", message, hint: REPAIR_STORE }];
        }
        if (fault === undefined) return [];
        const hint = `stop the daemon and put back a copy of ${dirname(place.file)}, journal and all`;
        return [{ ...place, severity: "error", message: fault, hint }];
      }
      if (machine.status(journalDirectory(config.directory)) === undefined) return [];
      const message =
        "does not exist, though there is a journal: contracts and revocations are lost";
      const hint = "put back a copy; without one, the chains at least are read from the journal";
      return [{ ...place, severity: "error", message, hint }];
    },
  },
  // The journal is damaged, by itself or compared with the store; it is not read completely.
  {
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
          hint: isHarmless
            ? "nothing: the next start mends it"
            : "agtp-keys verify --chain says which chains it breaks; put back a copy of the segment",
        };
      });
      const losses = lossesOf(subject, directory).map((damage): Observation => {
        const file = nameOf(subject, join(directory, damage.file));
        const message = describeDamage(damage);
        return { severity: "error", file, key: "", message, hint: REPAIR_JOURNAL };
      });
      return [...losses, ...faults];
    },
  },
  // The journal grows without a bound, or exceeds its bound.
  {
    id: "journal-size",
    asks: "is the journal kept within bounds?",
    look: (subject) => {
      const { config, machine } = subject;
      const { retention } = config.attribution;
      if (config.store.driver !== "sqlite") return [];
      const directory = journalDirectory(config.directory);
      if (machine.status(directory) === undefined) return [];
      const bytes = sizeOf(directory, machine);
      const archive = retention?.archive;
      const archived = archive === undefined ? 0 : sizeOf(archive, machine);
      if (bytes + archived < LARGE_JOURNAL) return [];
      const inMib = (octets: number): string => `${Math.floor(octets / MEBIBYTE)} MiB`;
      const beside = archive === undefined ? "" : `, and its archive ${inMib(archived)}`;
      const place = { file: nameOf(subject, directory), key: "" };
      const message = `has ${inMib(bytes)} of records${beside}`;
      if (retention !== undefined) {
        const hint = "nothing while there is room: [attribution.retention] bounds the journal";
        return [{ ...place, severity: "note", message, hint }];
      }
      const hint = "set days or bytes under [attribution.retention]: nothing is ever taken away";
      return [{ ...place, severity: "warning", message, hint }];
    },
  },
  // There is no space for records: the server answers nothing that it cannot record.
  {
    id: "disk-space",
    asks: "is there room for state and records?",
    look: (subject) => {
      const { config, machine } = subject;
      if (config.store.driver === "memory") return [];
      const places = [stateDirectory(config.directory), dirname(config.store.path)];
      const existing = places.map((path) => existingPart(path, machine));
      return [...new Set(existing)].flatMap((path) => measureSpace(path, subject));
    },
  },
];

const REPAIR_STORE =
  "put back a copy of both; without one, agtp-keys repair goes on and records the loss";

const REPAIR_JOURNAL =
  "put back a copy of the segment; without one, agtp-keys repair goes on and records the loss";

/** Lost records; none are known if the store cannot be read, which another check reports. */
function lossesOf({ config, machine }: Subject, directory: string): readonly JournalDamage[] {
  const { path } = config.store;
  if (machine.status(path) === undefined || findSqliteFault(path) !== undefined) return [];
  const [heads, checkpoints] = readStoreCopy(path, KNOWN_CHAINS);
  const known = knownChainsOf(heads, checkpoints);
  const placed = [...known.heads].filter(([, { place }]) => place !== undefined);
  return findLosses(directory, { ...known, heads: new Map(placed) });
}

const MEBIBYTE = 1024 * 1024;
const LARGE_JOURNAL = 1024 * MEBIBYTE;

/** The total size of a directory's segments; 0 if it does not exist. */
function sizeOf(directory: string, machine: Machine): number {
  if (machine.status(directory) === undefined) return 0;
  const sizes = listSegments(directory).map(
    (number) => machine.status(join(directory, segmentName(number)))?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const LITTLE = 1024 * MEBIBYTE;
const NEXT_TO_NOTHING = 128 * MEBIBYTE;
const FEW_FILES = 1_000;
const MAKE_ROOM = "make room, or move the deployment to a larger disk";

/** The closest existing ancestor of a path, below which an absent one will be made. */
function existingPart(path: string, machine: Machine): string {
  return machine.status(path) === undefined && dirname(path) !== path
    ? existingPart(dirname(path), machine)
    : path;
}

function measureSpace(path: string, subject: Subject): readonly Observation[] {
  const { freeBytes, freeFiles } = subject.machine.space(path);
  const place = { file: nameOf(subject, path), key: "", hint: MAKE_ROOM };
  if (freeFiles !== undefined && freeFiles < FEW_FILES) {
    const message = `the file system has room for ${freeFiles} more files`;
    return [{ ...place, severity: "error", message }];
  }
  if (freeBytes >= LITTLE) return [];
  const message = `the file system has ${Math.floor(freeBytes / MEBIBYTE)} MiB left`;
  return [{ ...place, severity: freeBytes < NEXT_TO_NOTHING ? "error" : "warning", message }];
}
