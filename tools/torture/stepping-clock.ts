/** A module that is loaded into a daemon, and steps its clock on command. */
export const STEPPING_CLOCK: string = `data:text/javascript,${encodeURIComponent(`
  const now = Date.now;
  let stepMs = 0;
  Date.now = () => now() + stepMs;
  process.on("message", (message) => { if (message.stepMs !== undefined) stepMs += message.stepMs; });
`)}`;
