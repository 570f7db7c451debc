/**
 * Reports a start or a reload to the operator: problems, trust postures, unsigned records, and keys
 * that need a restart.
 */

import { realpathSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { valueAt } from "../base/json-value.ts";
import type { Log } from "../base/log.ts";
import type { Paced } from "../base/paced.ts";
import { boundedProblem, formatProblem, isError, type Problem } from "../base/problem.ts";
import { createRedactor } from "../base/redaction.ts";
import { codeOf, reasonOf, traceOf } from "../base/thrown.ts";
import { environmentSecrets } from "../modules/openwop/host-agents.ts";
import { pushesMetrics } from "../modules/tracing/config.ts";
import type { DaemonOptions } from "./build-daemon.ts";
import type { Config } from "./config/config.ts";
import { environmentAt } from "./config/load.ts";
import type { StatusSource } from "./control.ts";
import type { Deployment } from "./deployment.ts";

export interface PortFault {
  readonly key: string;
  readonly host: string;
  readonly port: number;
  readonly error: unknown;
}

/** Writes the ready line, which programs that start a daemon wait for, so no log level hides it. */
export function announce(log: Log, status: StatusSource, fingerprint256: string): void {
  const { address, port, config, workers, node } = status;
  const { gatewayPort, metricsPort, consolePort } = status;
  const { serverId } = config.server;
  const ready = { event: "listening", address, port, server_id: serverId, fingerprint256 };
  log.logger.child({}, { level: "info" }).info(
    {
      ...{ ...ready, workers, node, gateway_port: gatewayPort },
      ...{ metrics_port: metricsPort, console_port: consolePort },
    },
    `listening on ${address} port ${port}`,
  );
  void log.flush();
}

/** Describes a port that cannot be bound, with a remedy. */
export function portProblem(
  { directory, file }: Config,
  { key, host, port, error }: PortFault,
): Problem {
  const message = `cannot listen on ${host} port ${port}: ${reasonOf(error)}`;
  const hint = portHint(key, codeOf(error));
  return { file: relative(directory, file), key, message, ...hint };
}

function portHint(key: string, code: string): { readonly hint?: string } {
  if (code !== "EADDRINUSE" && code !== "EACCES") return {};
  const option = key === "server.port" ? ", or --port N for this start" : "";
  return { hint: `choose another port there${option}; 0 is any free one` };
}

/** Logs the problems, one a step. */
export function* reportingProblems({ logger }: Log, problems: readonly Problem[]): Paced<void> {
  for (const problem of problems) {
    const { file, key, message, hint } = boundedProblem(problem);
    const line = { event: "problem", file, key, problem: message, hint };
    if (isError(problem)) logger.error(line, formatProblem(problem));
    else logger.warn(line, formatProblem(problem));
    yield;
  }
}

/** Logs the rules behind each agent's trust posture, and warns if records are unsigned. */
export function* reportingTrust(
  { logger }: Log,
  { config, directory, signer, lifecycle }: Deployment,
): Paced<void> {
  for (const agent of directory.list()) {
    const { agentId, name, trustTier, verificationPath, trustWarning, postureRules } = agent;
    const line = {
      event: "agent",
      agent_id: agentId,
      name,
      status: lifecycle.statusOf(agent),
      trust_tier: trustTier,
      verification_path: verificationPath,
      trust_warning: trustWarning,
      rules: postureRules,
    };
    logger.info(line, `agent ${name} has trust tier ${trustTier}, ${verificationPath}`);
    yield;
  }
  if (signer.publicKey !== undefined || !config.attribution.enabled) return;
  const message = "no [signing] key: Attribution-Records are unsigned and prove nothing";
  logger.warn({ event: "unsigned-records" }, message);
}

/** Keys that are read once per process. */
const READ_ONCE = [
  ...["server.host", "server.port", "server.workers", "gateway.enabled", "gateway.host"],
  ...["gateway.port", "gateway.cert", "metrics.enabled", "metrics.host", "metrics.port"],
  ...["console.enabled", "console.host", "console.port", "console.cert", "tracing.metrics"],
  ...["store.driver", "store.path", "store.url", "store.schema", "store.ca", "cluster.node"],
  ...["cluster.view_lease_ms", "attribution.durability"],
];

/** Keys that Node applies only when the listener of the sidecar or the console is created. */
const HEAD_OF_HTTP = ["limits.request_line_bytes", "limits.header_bytes"];

function valueOfKey(config: Config, key: string): unknown {
  switch (key) {
    case "limits.request_line_bytes":
      return config.limits.requestLineBytes;
    case "limits.header_bytes":
      return config.limits.headerBytes;
    // A reload cannot switch between plain HTTP and TLS.
    case "gateway.cert":
      return config.gateway.cert !== undefined;
    case "console.cert":
      return config.console.cert !== undefined;
    case "tracing.metrics":
      return pushesMetrics(config.tracing);
    case "cluster.view_lease_ms":
      return config.cluster.viewLeaseMs;
    default:
      return valueAt(config, key.split("."));
  }
}

/** A warning for each key that changed and needs a restart. */
export function keysNeedingRestart(before: Config, after: Config): readonly Problem[] {
  const file = relative(after.directory, after.file);
  const warningsOf = (keys: readonly string[], message: string): readonly Problem[] =>
    keys
      .filter((key) => valueOfKey(before, key) !== valueOfKey(after, key))
      .map((key) => ({ file, key, message, severity: "warning" }));
  const hasHttp = before.gateway.enabled || before.console.enabled;
  return [
    ...warningsOf(READ_ONCE, "changed, which takes effect at the next start"),
    ...warningsOf(
      hasHttp ? HEAD_OF_HTTP : [],
      "changed, which takes effect for HTTP clients at the next start",
    ),
  ];
}

/** Logs a fault, with a description of where it occurred. */
type FaultReport = (error: unknown, what: string) => void;

/** Starts to log the process's faults, which the process survives. Returns the function that logs them. */
export function logProcessFaults({ log, env, configPath }: DaemonOptions): FaultReport {
  // A fault in an operator's function may quote the function's arguments.
  const redactor = createRedactor(
    environmentSecrets(environmentAt(dirname(resolve(configPath)), env).environment),
  );
  const fault: FaultReport = (error, what) => {
    log.logger.error({ event: "fault", trace: redactor.text(traceOf(error)) }, what);
  };
  process.on("unhandledRejection", (error) => fault(error, "unhandled rejection"));
  process.on("uncaughtException", (error) => fault(error, "uncaught exception"));
  process.on("exit", (code) => {
    const call = new Error("process.exit was called");
    if (findForeignExit(traceOf(call)) !== undefined) {
      fault(call, `a function of the deployment ended the process with code ${code}`);
      // Nobody asked for this end, so the exit code lets a supervisor restart the process.
      if (code === 0) process.exitCode = 1;
    }
    void log.flush();
  });
  return fault;
}

/** A file of the bundle in a trace, named by `tools/load-bundle.ts`. */
const BUNDLED = /[( ]agtpd:[\w-]+\.cjs:\d/;

/** Returns the caller of `process.exit` in a trace if it is not part of this program; undefined otherwise. */
function findForeignExit(trace: string): string | undefined {
  const [, callers = ""] = trace.split(/^ *at process\.exit .*$/m);
  const [caller = ""] = callers.trimStart().split("\n");
  const [, script = ""] = process.argv;
  const isOwn = BUNDLED.test(caller) || caller.includes(dirname(dirname(realpathSync(script))));
  return caller === "" || isOwn ? undefined : caller;
}

/** Reports a deployment that ended the process during its load, as the last action of the process. */
export function reportForeignExit(
  { configPath }: Pick<DaemonOptions, "configPath">,
  report: (problem: Problem) => void,
): void {
  process.on("exit", (code) => {
    const caller = findForeignExit(traceOf(new Error("process.exit was called")));
    if (caller === undefined) return;
    const [, place = configPath] =
      /(?:^ *at |\()([^()]+?)(?:\?[^?]*)?:\d+:\d+\)?$/.exec(caller) ?? [];
    const path = place.startsWith("file:") ? fileURLToPath(place) : place;
    const file = relative(realpathSync(dirname(resolve(configPath))), path);
    const message = `ended the process with code ${code} while it was loaded`;
    report({ file, key: "", message, hint: "leave out process.exit: what is thrown is told of" });
  });
}
