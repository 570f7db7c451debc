/** The names of the gates in the order in which they are asked; `dispatcher.ts` lists them so. */
export const GATE_NAMES: readonly string[] = [
  ...["caller", "session", "authority", "lifecycle", "rates", "ledger"],
  ...["alias", "method", "path", "policy", "contract", "endpoint", "negotiation"],
  ...["body", "body-session", "task", "input", "scope", "approval"],
];
