/**
 * The time that `vi.waitFor` gives what other processes or the loop must come to, on a machine that may be busy: nearly
 * all of a test's own, whose end would not say what is missing.
 */
export const PATIENCE: { readonly timeout: number; readonly interval: number } = {
  timeout: 100_000,
  interval: 50,
};

/** `[cluster]` of nodes and workers that go on serving where a busy machine stalls one of them for seconds. */
export const PATIENT_CLUSTER: { readonly view_lease_ms: number } = { view_lease_ms: 10_000 };
