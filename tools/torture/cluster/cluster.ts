/**
 * Runs three daemons over one PostgreSQL in a scratch directory, under load and faults, and checks
 * the answers against the stored records.
 */
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, createWriteStream, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeAtEnd } from "../../leftovers.ts";
import { makeCertificate } from "../../scratch.ts";
import { STEPPING_CLOCK } from "../stepping-clock.ts";
import { Database } from "./database.ts";
import { agentId, OPERATOR, writeNode } from "./deployment.ts";
import { readEffects, readHeads, readRecords, readRunEnds } from "./evidence.ts";
import { expose } from "./expose.ts";
import type { Scene } from "./faults.ts";
import type { Asked } from "./history.ts";
import { contradictions } from "./invariants.ts";
import { Link } from "./link.ts";
import { Node } from "./node.ts";
import { makeOperator, type Operator } from "./operator.ts";
import { seeded } from "./random.ts";
import { Workload } from "./workload.ts";

export interface ClusterOptions {
  readonly seed: number;
  /** The time after which no fault begins. */
  readonly seconds: number;
  /** The maximum number of faults. */
  readonly faults: number;
  /** The faults in order, repeated. Default: random ones. */
  readonly plan?: readonly string[] | undefined;
  /** The folder of initdb. */
  readonly postgres: string;
  /** The built daemon program. */
  readonly program: string;
  /** Called at the beginning of each fault, and at the end. */
  say(line: string): void;
}

/** The outcome of a run. */
interface ClusterOutcome {
  readonly faults: number;
  readonly requests: number;
  readonly records: number;
  /** The violated invariants; if there are any, the directory with history, logs and data is kept. */
  readonly contradictions: readonly string[];
}

const LEASE_MS = 1_000;
const NODES = ["a", "b", "c"];

/** Runs everything, and removes the directory unless an invariant is violated. */
export async function tortureCluster(options: ClusterOptions): Promise<ClusterOutcome> {
  const directory = mkdtempSync(join(tmpdir(), "agtpd-torture-"));
  const removed = removeAtEnd(directory);
  const scratch = join(directory, "postgres");
  mkdirSync(scratch);
  const database = new Database(options.postgres, scratch);
  let scene: Scene | undefined;
  let outcome: ClusterOutcome | undefined;
  try {
    const made = await build(directory, database, options);
    scene = made.scene;
    outcome = await run(made, directory, options);
    return outcome;
  } finally {
    for (const { link } of scene?.nodes ?? []) link.close();
    await Promise.all((scene?.nodes ?? []).map((node) => node.end("SIGKILL")));
    await database.stop();
    removed();
    if (outcome?.contradictions.length === 0) rmSync(directory, { recursive: true, force: true });
    else options.say(`history and logs are in ${directory}`);
  }
}

interface Made {
  readonly scene: Scene;
  readonly signingKey: string;
  readonly effects: string;
  readonly operator: Operator;
}

async function build(
  directory: string,
  database: Database,
  { program }: ClusterOptions,
): Promise<Made> {
  // Its user needs access to subdirectories.
  chmodSync(directory, 0o711);
  await database.make();
  const tls = await makeCertificate(directory);
  const { privateKey } = generateKeyPairSync("ed25519");
  const signingKey = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const effects = join(directory, "effects.log");
  const operator = await makeOperator(agentId(OPERATOR));
  const nodes: Node[] = [];
  for (const name of NODES) {
    const link = await Link.open(database.socket);
    const config = writeNode(join(directory, name), {
      ...{ node: name, databasePort: link.port, leaseMs: LEASE_MS, tls, signingKey, effects },
      operator,
    });
    const log = join(directory, `${name}.log`);
    const waits = (): Promise<readonly string[]> => database.activity();
    nodes.push(new Node({ name, config, link, program, log, preload: STEPPING_CLOCK, waits }));
  }
  const scene = { nodes, database, leaseMs: LEASE_MS, cutOffs: [], failovers: [] };
  return { scene, signingKey, effects, operator };
}

async function run(
  { scene, signingKey, effects, operator }: Made,
  directory: string,
  options: ClusterOptions,
): Promise<ClusterOutcome> {
  const { nodes, database, cutOffs, failovers } = scene;
  const asked: Asked[] = [];
  const history = createWriteStream(join(directory, "history.jsonl"));
  const note = (one: Asked): void => {
    asked.push(one);
    history.write(`${JSON.stringify(one)}\n`);
  };
  const started = await Promise.all(nodes.map((node) => node.start()));
  if (started.includes(false)) throw new Error("a node does not start");
  const workload = new Workload(nodes, seeded(options.seed + 1), { note, operator });
  workload.start();
  const { count, fault } = await expose(scene, options, note);
  await workload.stop();
  history.end();
  await Promise.all(nodes.map((node) => node.end("SIGTERM")));
  const records = await readRecords(database, signingKey);
  const heads = await readHeads(database);
  const found = contradictions({
    ...{ asked, cutOffs, failovers, leaseMs: scene.leaseMs, records, heads },
    ...{ effects: readEffects(effects), runEnds: await readRunEnds(database) },
  });
  const all = fault === undefined ? found : [fault, ...found];
  return { faults: count, requests: asked.length, records: records.length, contradictions: all };
}
