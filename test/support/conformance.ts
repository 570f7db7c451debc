/** The conformance cases, the servers that they are run against in tests, and one run of the program. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Daemon } from "../../src/app/daemon.ts";
import type { Target } from "../../src/programs/conformance/ask.ts";
import type { ConformanceCase } from "../../src/programs/conformance/case.ts";
import { runConformance } from "../../src/programs/conformance/command.ts";
import {
  readCatalog,
  readIdentity,
  readPeer,
  readProposal,
} from "../../src/programs/conformance/command-inputs.ts";
import { parseCommandLine } from "../../src/programs/conformance/command-line.ts";
import { loadCases, shippedCasesPath } from "../../src/programs/conformance/load-cases.ts";
import { prepareSubject, type TestSubject } from "../../src/programs/conformance/subject.ts";
import { surveyServer } from "../../src/programs/conformance/survey.ts";
import { runKeysCommand } from "../../src/programs/keys/command.ts";
import type { Output, Terminal } from "../../src/programs/shell/terminal.ts";
import { type AlteringProxy, startProxy } from "./altering-proxy.ts";
import { createDaemon } from "./daemon.ts";
import { copyDeployment } from "./deployment.ts";

const TEST = join(import.meta.dirname, "..");
const FIXTURE = join(TEST, "exchanges/deployment");

/** One configuration of the fixture, and as whom it is asked. */
export interface ConformanceRun {
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

/** What a run of the program leaves behind. */
export interface ProgramRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
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
  const { terminal } = makeTerminal(deployment.directory);
  await runKeysCommand(["signing"], terminal);
  const daemon = await createDaemon(deployment);
  const proxy = await startProxy(daemon.daemon.port);
  const files = [
    ...["--proposal", join(TEST, "conformance/stay.proposal.json")],
    ...["--catalog", join(FIXTURE, "catalog/methods.json")],
  ];
  const uri = `agtp://127.0.0.1:${daemon.daemon.port}`;
  const line = parseCommandLine([uri, "--insecure", ...args, ...files], terminal);
  if (line.kind === "end") throw new Error("the command line is wrong");
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
export async function runProgram(
  args: readonly string[],
  directory: string = TEST,
): Promise<ProgramRun> {
  const { terminal, written } = makeTerminal(directory);
  const exitCode = await runConformance(args, terminal);
  return { exitCode, out: written.out.join(""), err: written.err.join("") };
}

function makeTerminal(directory: string): {
  readonly terminal: Terminal;
  readonly written: { readonly out: readonly string[]; readonly err: readonly string[] };
} {
  const out: string[] = [];
  const err: string[] = [];
  const output = (pieces: string[]): Output => ({
    write: (text) => void pieces.push(text),
    isTerminal: false,
    hasColour: false,
  });
  const terminal = {
    out: output(out),
    err: output(err),
    directory,
    readInput: () => Promise.resolve(""),
  };
  return { terminal, written: { out, err } };
}
