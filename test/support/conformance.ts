/** The conformance cases, the servers that they are run against in tests, and one run of the program. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Daemon } from "../../src/app/daemon.ts";
import { surveyServer, type Target } from "../../src/programs/conformance/ask.ts";
import {
  type ConformanceCase,
  loadCases,
  shippedCasesPath,
} from "../../src/programs/conformance/case.ts";
import { conformanceProgram } from "../../src/programs/conformance/command.ts";
import {
  CONFORMANCE_ARGS,
  CONFORMANCE_OPTIONS,
  type ConformanceLine,
  readCatalog,
  readIdentity,
  readPeer,
  readProposal,
} from "../../src/programs/conformance/command-inputs.ts";
import { prepareSubject, type TestSubject } from "../../src/programs/conformance/subject.ts";
import { keysProgram } from "../../src/programs/keys/command.ts";
import { command } from "../../src/programs/shell/command.ts";
import { type AlteringProxy, startProxy } from "./altering-proxy.ts";
import { createDaemon } from "./daemon.ts";
import { copyDeployment } from "./deployment.ts";
import { keepingTerminal, type ProgramRun, runIn } from "./terminal.ts";

const TEST = join(import.meta.dirname, "..");
const FIXTURE = join(TEST, "exchanges/deployment");

/** One configuration of the fixture, and as whom it is asked. */
interface ConformanceRun {
  /** "" is the default one. */
  readonly config: string;
  readonly args: readonly string[];
}

/** A daemon behind a proxy, and what the suite knows of it. */
export interface ConformanceServer {
  readonly config: string;
  readonly daemon: Daemon;
  readonly proxy: AlteringProxy;
  /** The daemon itself. */
  readonly target: Target;
  /** The daemon behind the proxy. */
  readonly altered: Target;
  readonly subject: TestSubject;
  close(): Promise<void>;
}

/** The configurations that together show every case. */
export const RUNS: readonly ConformanceRun[] = JSON.parse(
  readFileSync(join(TEST, "conformance/runs.json"), "utf8"),
);

/** The cases that are shipped. */
export function shippedCases(): readonly ConformanceCase[] {
  const { cases, problems } = loadCases(shippedCasesPath());
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return cases;
}

/** Starts a daemon for one run; the caller closes it. */
export async function openConformanceServer({
  config,
  args,
}: ConformanceRun): Promise<ConformanceServer> {
  const name = config === "" ? "agtp-server.toml" : `agtp-server.${config}.toml`;
  const text = readFileSync(join(FIXTURE, name), "utf8");
  const deployment = copyDeployment(FIXTURE, { "agtp-server.toml": text });
  const terminal = keepingTerminal(deployment.directory);
  await runIn(deployment.directory, keysProgram, ["signing"]);
  const daemon = await createDaemon(deployment);
  const proxy = await startProxy(daemon.daemon.port);
  const files = [
    ...["--proposal", join(TEST, "conformance/stay.proposal.json")],
    ...["--catalog", join(FIXTURE, "catalog/methods.json")],
  ];
  const uri = `agtp://127.0.0.1:${daemon.daemon.port}`;
  const line = await readLine([uri, "--insecure", ...args, ...files]);
  const target: Target = { peer: readPeer(line, terminal), timeoutMs: 10_000 };
  const identity = readIdentity(line);
  const result = await surveyServer(target, identity);
  if (result.kind === "unreachable") throw new Error(result.message);
  const catalog = readCatalog(line, terminal);
  const proposal = readProposal(line, terminal);
  return {
    config,
    daemon: daemon.daemon,
    proxy,
    target,
    altered: { ...target, peer: { ...target.peer, port: proxy.port } },
    subject: prepareSubject(result.survey, { identity, catalog, proposal }),
    close: async () => {
      await proxy.close();
      await daemon.close();
      deployment.remove();
    },
  };
}

/** The program, in process. */
export function runProgram(args: readonly string[], directory: string = TEST): Promise<ProgramRun> {
  return runIn(directory, conformanceProgram, args);
}

async function readLine(args: readonly string[]): Promise<ConformanceLine> {
  let read: ConformanceLine | undefined;
  const reading = command({
    ...{ name: "reading", description: "", args: CONFORMANCE_ARGS, options: CONFORMANCE_OPTIONS },
    run: (line) => {
      read = line;
      return true;
    },
  });
  const { err } = await runIn(TEST, reading, args);
  if (read === undefined) throw new Error(err);
  return read;
}
