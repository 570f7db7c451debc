/**
 * Signal handling of the daemon: two signals drain it, one reloads its deployment, and the one that
 * opens Node's debugger is ignored.
 */
import type { Daemon } from "../src/app/daemon.ts";

/** The part of the daemon that signals use; a console alone cannot reload a deployment. */
type Signalled = Pick<Daemon, "drain"> & Partial<Pick<Daemon, "reload">>;

/** Ignores SIGUSR1, on which Node would open a debugger to everyone on the host; other daemons reopen logs on it. */
export function ignoreDebugger(): void {
  process.on("SIGUSR1", () => undefined);
}

/** Installs the handlers; returns a function that sets the daemon once it is started. */
export function handleSignals(): (started: Signalled) => void {
  let running: Signalled | undefined;
  let isStopping = false;
  let isReloadDue = false;
  const stop = async (): Promise<void> => {
    // A second signal exits at once.
    if (isStopping) process.exit(1);
    isStopping = true;
    if (running === undefined) process.exit(0);
    await running.drain();
  };
  const reload = (): void => {
    // The start may have read files that have changed since, so it reloads afterwards.
    isReloadDue = running === undefined;
    // Failures are logged by the reload itself.
    running?.reload?.().catch(() => undefined);
  };
  ignoreDebugger();
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());
  process.on("SIGHUP", reload);
  return (started) => {
    running = started;
    if (isReloadDue) reload();
  };
}
