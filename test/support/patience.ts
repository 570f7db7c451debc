/** The time that `vi.waitFor` gives what other processes or the loop must come to, on a machine that may be busy. */
export const PATIENCE: { readonly timeout: number; readonly interval: number } = {
  timeout: 30_000,
  interval: 50,
};
