/** Faults that nobody has caught: logged, with the secrets of the environment left out. */
import { dirname, resolve } from "node:path";
import { traceOf } from "../base/thrown.ts";
import { environmentSecrets } from "../modules/openwop/host-agents.ts";
import { createRedactor } from "../modules/openwop/redaction.ts";
import type { DaemonOptions } from "./build-daemon.ts";
import { environmentAt } from "./config/load.ts";

/** Logs them from now on; the process goes on. */
export function logProcessFaults({ log, env, configPath }: DaemonOptions): void {
  // A fault in an operator's function may quote what the function was given.
  const redactor = createRedactor(
    environmentSecrets(environmentAt(dirname(resolve(configPath)), env).environment),
  );
  const fault = (error: unknown, what: string): void => {
    log.logger.error({ event: "fault", trace: redactor.text(traceOf(error)) }, what);
  };
  process.on("unhandledRejection", (error) => fault(error, "unhandled rejection"));
  process.on("uncaughtException", (error) => fault(error, "uncaught exception"));
}
