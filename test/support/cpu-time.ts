/** What the processor did for this process: a machine that others keep busy makes it no longer. */

/** Milliseconds so far; only differences mean something. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
