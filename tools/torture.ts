#!/usr/bin/env node
/**
 * `npm run torture`: attacks and operational faults against a daemon on loopback, each with its own
 * daemon and for a limited time, while another process measures its responses; also faults against
 * a cluster of three with its own PostgreSQL. Exit 0: it held; 1: it did not, and the report tells
 * where.   docs/torture.md
 */
import { fileURLToPath } from "node:url";
import { command, type Options } from "../src/programs/shell/command.ts";
import { InvalidValue } from "../src/programs/shell/run-program.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";
import { writeDeployment } from "./bench/deployment.ts";
import { runHere } from "./process-terminal.ts";
import { inScratch, makeCertificate } from "./scratch.ts";
import type { Attack } from "./torture/attack.ts";
import { ATTACKS } from "./torture/attacks.ts";
import { FAULTS } from "./torture/cluster/faults.ts";
import { reportCluster } from "./torture/cluster/report.ts";
import { Heart, Victim } from "./torture/victim.ts";

const COUNT = { parse: (text: string) => readNumber(text, 999_999) } as const;
const SEED = { parse: (text: string) => readNumber(text, 999_999_999) } as const;
const PROGRAM_PATH = fileURLToPath(new URL("agtpd.js", import.meta.url));
/** Names the cluster's faults, which are no attack on a single daemon. */
const CLUSTER = "cluster";
const NAMES = [...ATTACKS.map(({ name }) => name), CLUSTER];

const OPTIONS = {
  "--seconds <count>": { help: "how long each attack lasts", ...COUNT, default: 10 },
  "--only <names>": {
    help: NAMES.join(","),
    parse: (text: string) => chooseFrom(NAMES, "attack", text),
  },
  "--max-stall-ms <count>": {
    help: "the longest that nobody may be answered",
    ...COUNT,
    default: 1_000,
  },
  "--endpoints <count>": { help: "endpoints of the daemon", ...COUNT, default: 500 },
  "--seed <count>": { help: "of the cluster's faults; another one each time without", ...SEED },
  "--faults <count>": { help: "the cluster's faults at most", ...COUNT, default: 100_000 },
  "--plan <names>": {
    help: `the cluster's faults in this order, over and over: ${Object.keys(FAULTS).join(",")}`,
    parse: (text: string) => chooseFrom(Object.keys(FAULTS), "fault", text),
  },
} as const;

type TortureOptions = Options<typeof OPTIONS>;

interface Outcome {
  readonly name: string;
  readonly count: number;
  readonly stallMs: number;
  readonly ownMs: number;
  readonly fault: string | undefined;
}

const PROGRAM = command({
  name: "torture",
  description: "attacks a daemon on loopback, and says whether it held",
  options: OPTIONS,
  run,
});

async function run(options: TortureOptions, { out }: Terminal): Promise<boolean> {
  const names = options.only ?? NAMES;
  let held = 0;
  for (const name of names) {
    const attack = ATTACKS.find((one) => one.name === name);
    if (attack === undefined) {
      if (await reportCluster({ program: PROGRAM_PATH, ...options }, out)) held += 1;
      continue;
    }
    const outcome = await inScratch((directory) => torture(attack, directory, options));
    out.write(`${formatOutcome(outcome)}\n`);
    if (outcome.fault === undefined) held += 1;
  }
  out.write(`${held} of ${names.length} held\n`);
  return held === names.length;
}

function readNumber(text: string, most: number): number {
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text);
  throw new InvalidValue(`a whole number from 1 to ${most} is expected`);
}

function chooseFrom(names: readonly string[], kind: string, text: string): readonly string[] {
  return text.split(",").map((name) => {
    if (!names.includes(name)) throw new InvalidValue(`"${name}" is no ${kind}`);
    return name;
  });
}

async function torture(
  attack: Attack,
  directory: string,
  options: TortureOptions,
): Promise<Outcome> {
  const tls = await makeCertificate(directory);
  const config = writeDeployment(directory, options.endpoints, { tls, records: "signed" });
  const heart = new Heart();
  const victim = new Victim(config, attack.options ?? {}, heart);
  let count = 0;
  try {
    await victim.start();
    await heart.watch(victim.port);
    const end = performance.now() + options.seconds * 1_000;
    const found = await attack.run({
      ...{ victim, directory },
      goesOn: () => performance.now() < end && (victim.isAlive || attack.isRestarting === true),
      count: () => {
        count += 1;
      },
    });
    const { longestMs, ownMs } = await heart.pulse();
    const stallMs = Math.max(0, longestMs - ownMs);
    const isStalled = stallMs > options.maxStallMs;
    const stalled = isStalled ? "nobody was answered for too long" : undefined;
    const ended = (await victim.end("SIGTERM")) ? undefined : "it did not end in good order";
    return { name: attack.name, count, stallMs, ownMs, fault: found ?? stalled ?? ended };
  } finally {
    heart.stop();
    await victim.end("SIGKILL");
  }
}

function formatOutcome({ name, count, stallMs, ownMs, fault }: Outcome): string {
  const columns = [
    name.padEnd(22),
    String(count).padStart(8),
    `stall ${Math.round(stallMs)} ms`.padStart(16),
    `(own ${Math.round(ownMs)} ms)`.padStart(16),
  ];
  return `${columns.join(" ")}  ${fault === undefined ? "held" : `FAILED: ${fault}`}`;
}

await runHere(PROGRAM);
// Only two exit codes are documented: a wrong command line counts as a failure.
if (process.exitCode === 2) process.exitCode = 1;
