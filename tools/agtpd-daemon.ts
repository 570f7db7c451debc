/** The daemon as a program: starts or checks a deployment, and turns signals into drain and reload. */
import type { DaemonOptions } from "../src/app/build-daemon.ts";
import { checkDeployment, startDaemon } from "../src/app/daemon.ts";
import { logProcessFaults, reportForeignExit } from "../src/app/start-report.ts";
import { createLog } from "../src/base/log.ts";
import { isError, type Problem } from "../src/base/problem.ts";
import { reasonOf } from "../src/base/thrown.ts";
import { usage } from "../src/programs/shell/command.ts";
import { findReadFault } from "../src/programs/shell/read-config.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";
import { printWholeProblems } from "../src/programs/shell/whole-problems.ts";
import type { DaemonLine } from "./agtpd-program.ts";
import { handleSignals } from "./daemon-signals.ts";
import { openLogSink } from "./log-sink.ts";

type Started = ReturnType<typeof handleSignals>;

/** Serves or checks the deployment on the command line; a refusal ends the process. */
export async function runDaemon(flags: DaemonLine, terminal: Terminal): Promise<undefined> {
  if (flags.json && !flags.check) throw usage("--json goes with --check");
  const { check: isCheck, inspectOnly, watch } = flags;
  const asked = Object.entries({
    "--check": isCheck,
    "--inspect-only": inspectOnly,
    "--watch": watch,
  });
  const [one, other] = asked.flatMap(([name, isAsked]) => (isAsked === true ? name : []));
  if (other !== undefined) throw usage(`expected ${one} or ${other}, got both`);
  const options: DaemonOptions = {
    configPath: flags.config,
    ...(flags.host === undefined ? {} : { host: flags.host }),
    ...(flags.port === undefined ? {} : { port: flags.port }),
    env: process.env,
    log: createLog(flags.check ? "silent" : flags.logLevel, await openLogSink(terminal)),
  };
  const unreadable = findReadFault(flags.config);
  if (unreadable !== undefined) {
    const problem: Problem = { file: flags.config, key: "", ...unreadable };
    if (flags.check && flags.json) terminal.out.write(formatReport([problem]));
    printWholeProblems([problem], terminal.err);
    await finish(2, options);
  }
  // Installed before the start, because a signal may follow the ready line at once.
  const started = flags.check ? () => undefined : handleSignals();
  const reportFault = flags.check ? () => undefined : logProcessFaults(options);
  try {
    if (flags.check) await check(options, flags.json === true, terminal);
    else if (flags.inspectOnly === true) await inspect(options, terminal, 0, started);
    else await serve(options, terminal, flags.watch === true, started);
  } catch (error) {
    // Exits explicitly, because parts opened before may keep the process alive, or nothing may.
    reportFault(error, "the start failed");
    const message = `the start failed: ${reasonOf(error)}`;
    const problem: Problem = { file: flags.config, key: "", message };
    if (flags.json) terminal.out.write(formatReport([problem]));
    printWholeProblems([problem], terminal.err);
    await refuse(options, terminal);
  }
}

async function check(
  options: DaemonOptions,
  asJson: boolean,
  { out, err }: Terminal,
): Promise<undefined> {
  const print = (problems: readonly Problem[]): void => {
    if (asJson) out.write(formatReport(problems));
    else printWholeProblems(problems, out);
  };
  reportForeignExit(options, (problem) => {
    print([problem]);
    process.exitCode = 2;
  });
  const problems = await checkDeployment(options);
  const failed = problems.some(isError);
  print(problems);
  if (!asJson) {
    err.write(failed ? "the deployment has problems\n" : "the deployment is valid\n");
  }
  await finish(failed ? 1 : 0, options);
}

async function serve(
  options: DaemonOptions,
  terminal: Terminal,
  isWatching: boolean,
  started: Started,
): Promise<void> {
  const result = await startDaemon(options);
  if (result.kind === "refused") {
    printWholeProblems(result.problems, terminal.err);
    // With a console, an operator can look there for the record.
    if (result.isInspectable !== true) await refuse(options, terminal);
    terminal.err.write("not started\n");
    await inspect(options, terminal, 1, started);
  } else {
    const { daemon } = result;
    started(daemon);
    if (isWatching) daemon.watch();
    // After a signal or a control command; a stalled reader of the log is not waited for.
    void daemon.ended.then(() => process.exit(daemon.exitCode));
  }
}

/** Serves the console alone, and then exits with the code of the failed start. */
async function inspect(
  options: DaemonOptions,
  terminal: Terminal,
  code: 0 | 1,
  started: Started,
): Promise<void> {
  const { startInspection } = await import("../src/app/inspect.ts");
  const result = await startInspection(options);
  if (result.kind === "refused") {
    printWholeProblems(result.problems, terminal.err);
    await refuse(options, terminal);
    return;
  }
  const { inspection } = result;
  terminal.err.write("only the console is served, read-only: agtpd login prints a link to it\n");
  started(inspection);
  void inspection.ended.then(() => process.exit(code));
}

/** Ends a process that serves nothing. */
async function refuse(options: DaemonOptions, { err }: Terminal): Promise<never> {
  err.write("not started\n");
  return finish(1, options);
}

/** Exits once the log is written; the deployment's modules might otherwise keep the process alive. */
async function finish(code: number, { log }: DaemonOptions): Promise<never> {
  // Set in case the reader of the log is gone, which also ends the process.
  process.exitCode = code;
  await log.flush();
  const said = [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write("", resolve)),
  );
  await Promise.all(said);
  process.exit(code);
}

function formatReport(problems: readonly Problem[]): string {
  return `${JSON.stringify({ ok: !problems.some(isError), problems }, undefined, 2)}\n`;
}
