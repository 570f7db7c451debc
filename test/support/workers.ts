/** A daemon with workers: processes of the built program, whose parent is the process of the test. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { askDaemon } from "../../src/programs/control-commands.ts";
import { openDaemon, type RawClient, type TestDaemon } from "./daemon.ts";
import type { DeploymentFiles } from "./deployment.ts";
import { encodeRequest, type TestReply } from "./dispatch.ts";
import { hostedFiles } from "./hosted-agents.ts";
import { PATIENT_CLUSTER } from "./patience.ts";
import { type ReadRecord, readJournal } from "./records.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
export const PRIVATE_KEY: string = String(privateKey.export({ type: "pkcs8", format: "pem" }));
export const PUBLIC_KEY: KeyObject = createPublicKey(
  publicKey.export({ type: "spki", format: "pem" }),
);

type Tables = Readonly<Record<string, object>>;

/** Endpoints that answer with what they were given, and with the process that did it. */
const HANDLERS = `
export const echo = ({ input }) => ({ body: { ...input, pid: process.pid } });
`;

/** The files of a deployment with workers, which anybody may ask. */
export function workerFiles(
  workers: number,
  more: Tables = {},
  files: DeploymentFiles = {},
): DeploymentFiles {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  const { server = {}, cluster = {}, ...others } = more;
  const tables = {
    ...{ signing: { key: "signing.pem" }, server: { workers, ...server } },
    ...{ cluster: { ...PATIENT_CLUSTER, ...cluster }, ...others },
  };
  return hostedFiles(identity, tables, {
    ...{ "handlers.mjs": HANDLERS, "signing.pem": PRIVATE_KEY },
    ...files,
  });
}

/** Starts a daemon with workers for the running test. */
export function openWorkers(
  workers: number,
  more: Tables = {},
  files: DeploymentFiles = {},
): Promise<TestDaemon> {
  return openDaemon(workerFiles(workers, more, files));
}

/** The octets of a request. */
export function bytesOf(
  agent: string | undefined,
  method: string,
  path: string,
  body: object = {},
): Buffer {
  const headers = agent === undefined ? {} : { "Agent-ID": agent };
  return encodeRequest({ method, path, headers, body });
}

/** Asks on a connection that is open. */
export async function askOn(
  client: RawClient,
  ...request: Parameters<typeof bytesOf>
): Promise<TestReply | undefined> {
  const before = (await client.replies(0)).length;
  client.write(bytesOf(...request));
  return (await client.replies(before + 1))[before];
}

/** Opens one connection to each worker; each has one more than before when it is asked again. */
export async function connectToEach(
  daemon: TestDaemon,
  workers: number,
): Promise<readonly RawClient[]> {
  // A worker that answers has heard of the others; before that it keeps each connection.
  await control(daemon, "nodes");
  const clients: RawClient[] = [];
  for (let count = 0; count < workers; count += 1) clients.push(await daemon.connect());
  return clients;
}

/** Every record of the daemon's journal. */
export function recordsIn({ directory }: TestDaemon): readonly ReadRecord[] {
  return readJournal(join(directory, ".agtp/journal"));
}

/** Asks over the control socket. */
export function control(
  { directory }: TestDaemon,
  command: "status" | "nodes" | "reload",
): Promise<Readonly<Record<string, unknown>>> {
  return askDaemon({ command, config: "agtp-server.toml" }, { directory });
}
