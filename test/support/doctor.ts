/**
 * Deployments for the doctor: one with which nothing is wrong, and whatever a test does to it. The
 * machine is as a test says; what it does not say is healthy.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeKey } from "../../src/identity/certificate-writer.ts";
import { doctorCommand } from "../../src/programs/doctor/command.ts";
import { type Machine, thisMachine } from "../../src/programs/doctor/machine.ts";
import { configFile, type DeploymentFiles, makeDeployment } from "./deployment.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

/** What differs from a healthy deployment on a healthy machine. */
export interface PatientOptions {
  /** Tables of the configuration. */
  readonly tables?: Readonly<Record<string, object>>;
  readonly files?: DeploymentFiles;
  /** Modes of files and directories. */
  readonly modes?: Readonly<Record<string, number>>;
  /** Owners of files, as the machine tells them. */
  readonly owners?: Readonly<Record<string, number>>;
  readonly machine?: Partial<Machine>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** A finding of the JSON report. */
export interface FindingJson {
  readonly id: string;
  readonly severity: string;
  readonly file: string;
  readonly key: string;
  readonly message: string;
  readonly remedy: string;
}

/** What the doctor said. */
interface Diagnosis {
  readonly exitCode: number;
  readonly findings: readonly FindingJson[];
  readonly unasked: readonly { readonly id: string; readonly reason: string }[];
  readonly json: Readonly<Record<string, unknown>>;
  readonly err: string;
}

/** A deployment to be examined. */
interface Patient {
  readonly directory: string;
  /** With --json. */
  examine(): Promise<Diagnosis>;
  /** For people. */
  read(): Promise<ProgramRun>;
}

const GIBIBYTE = 1024 ** 3;
const SIGNING_KEY = ".agtp/keys/signing.pem";

/** Writes a deployment for the running test. */
export function makePatient(options: PatientOptions = {}): Patient {
  const { tables = {}, files = {}, modes = {}, environment = {}, args = [] } = options;
  const config = configFile({ signing: { key: SIGNING_KEY }, ...tables });
  const { directory } = makeDeployment({ "agtp-server.toml": config, ...files });
  writeSigningKey(directory);
  for (const [name, mode] of Object.entries(modes)) chmodSync(join(directory, name), mode);
  const run = (...more: readonly string[]): Promise<ProgramRun> => {
    const doctor = doctorCommand(makeMachine(directory, options));
    return runIn(directory, doctor, [...args, ...more], { environment });
  };
  return {
    directory,
    read: () => run(),
    examine: async () => {
      const { exitCode, out, err } = await run("--json");
      const json = JSON.parse(out);
      const { findings = [], unasked = [] } = json;
      return { exitCode, findings, unasked, json, err };
    },
  };
}

function writeSigningKey(directory: string): void {
  const path = join(directory, SIGNING_KEY);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, makeKey("ed25519"), { mode: 0o600 });
}

function makeMachine(directory: string, options: PatientOptions): Machine {
  const { machine = {}, owners = {}, modes = {} } = options;
  const real = thisMachine();
  const byPath = new Map(
    Object.entries(owners).map(([name, uid]) => [join(directory, name), uid] as const),
  );
  const chosen = new Set(Object.keys(modes).map((name) => join(directory, name)));
  return {
    ...real,
    nodeVersion: "v24.11.0",
    space: () => ({ freeBytes: 100 * GIBIBYTE, freeFiles: 1_000_000 }),
    status: (path) => {
      const status = real.status(path);
      if (status === undefined) return undefined;
      // Whatever umask the tests are run with.
      const mode = chosen.has(path) ? status.mode : status.mode & ~0o022;
      return { ...status, mode, uid: byPath.get(path) ?? status.uid };
    },
    ...machine,
  };
}
