/** Loaded into a daemon: its clock steps when it is told to. */
export const STEPPING_CLOCK: string = `data:text/javascript,${encodeURIComponent(`
  const now = Date.now;
  let stepMs = 0;
  Date.now = () => now() + stepMs;
  process.on("message", (message) => { if (message.stepMs !== undefined) stepMs += message.stepMs; });
`)}`;
