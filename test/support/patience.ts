/**
 * The time that `vi.waitFor` gives what other processes or the loop must come to, on a machine that may be busy: nearly
 * all of a test's own, whose end would not say what is missing.
 */
export const PATIENCE: { readonly timeout: number; readonly interval: number } = {
  timeout: 100_000,
  interval: 50,
};
