/**
 * Where tests write: a directory of the run, in memory unless TMPDIR says otherwise. A disk is asked to sync
 * thousands of times, and tests wait for it most of their time; they end processes, never a machine, so that no
 * sync changes what is kept.
 */
import { execFileSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { ensureCertificate } from "../../src/server/certificate.ts";

const MEMORY = "/dev/shm";
/** A container has 64 MiB of it by default. */
const ROOM_OCTETS = 2 ** 31;

/**
 * The variables of a test's process, and of those that it starts: the directory that they name goes with this one,
 * and they read no certificates of the machine, as 144 of them are two fifths of the time that Node takes to start.
 * `KEPT_TLS` has a certificate as a daemon keeps its own: to make one is two fifths of a first start.
 */
export async function testEnvironment(): Promise<Record<string, string>> {
  const place = process.env["TMPDIR"] === undefined && isRoomy() ? MEMORY : tmpdir();
  const directory = mkdtempSync(join(place, "agtpd-"));
  // A server of databases runs as somebody else.
  chmodSync(directory, 0o755);
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const keptTls = join(directory, "kept-tls");
  await ensureCertificate(keptTls);
  const own = { TMPDIR: directory, KEPT_TLS: keptTls, PATH: pathWithPython() };
  return { NODE_EXTRA_CA_CERTS: "", ...own };
}

/** The path on which Python itself comes first: a script that chooses one takes ten times as long to start. */
function pathWithPython(): string {
  const path = process.env["PATH"] ?? "";
  try {
    const own = ["-c", "import sys; print(sys.executable)"];
    const file = execFileSync("python3", own, { encoding: "utf8", stdio: "pipe" }).trim();
    return file === "" ? path : `${dirname(file)}${delimiter}${path}`;
  } catch {
    return path;
  }
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
