/**
 * Where tests write, unless TMPDIR says otherwise: in memory. A disk is asked to sync thousands of times, and
 * tests wait for it most of their time; they end processes, never a machine, so that no sync changes what is kept.
 */
import { accessSync, constants, readFileSync, statfsSync } from "node:fs";

const MEMORY = "/dev/shm";
/** A container has 64 MiB of it by default. */
const ROOM_OCTETS = 2 ** 31;

/**
 * The variables of a test's process, and of those that it starts: these read no certificates of the machine,
 * as 144 of them are two fifths of the time that Node takes to start.
 */
export function testEnvironment(): Record<string, string> {
  const isElsewhere = process.env["TMPDIR"] === undefined && isRoomy();
  return { NODE_EXTRA_CA_CERTS: "", ...(isElsewhere ? { TMPDIR: MEMORY } : {}) };
}

/** True if it has room, and programs that are written there can be run. */
function isRoomy(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_OCTETS && !optionsOf(MEMORY).includes("noexec");
  } catch {
    return false;
  }
}

/** Of the file system that was mounted there last. */
function optionsOf(place: string): readonly string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const mount = mounts.findLast((line) => line.split(" ")[1] === place);
  if (mount === undefined) throw new Error(`${place} is no mount`);
  return mount.split(" ")[3]?.split(",") ?? [];
}
