/**
 * The signals of the daemon's process: two of them drain what runs, one has it read its deployment again, and one
 * that opens a debugger by itself does nothing.
 */
import type { Daemon } from "../src/app/daemon.ts";

/** The part that signals are for: the console alone has no deployment to read again. */
type Signalled = Pick<Daemon, "drain"> & Partial<Pick<Daemon, "reload">>;

/** Keeps Node from opening a debugger to everybody on the host, as it does by a signal that others reopen logs by. */
export function ignoreDebugger(): void {
  process.on("SIGUSR1", () => undefined);
}

/** Handles them from now on; answers with how to say what runs, once something does. */
export function handleSignals(): (started: Signalled) => void {
  let running: Signalled | undefined;
  let isStopping = false;
  let isReloadDue = false;
  const stop = async (): Promise<void> => {
    // A second signal means now.
    if (isStopping) process.exit(1);
    isStopping = true;
    if (running === undefined) process.exit(0);
    await running.drain();
  };
  const reload = (): void => {
    // The start may have read already what has changed since.
    isReloadDue = running === undefined;
    // The log says what comes of it.
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
