/** Whether an endpoint can be called without any authority. */
import type { Check } from "../finding.ts";

/** The check `scope-requirement`. */
export const scopeRequirement: Check = {
  id: "scope-requirement",
  asks: "does calling need a scope?",
  look: ({ config: { policies }, configFile }) => {
    if (policies.scopeRequiredForInvocation) return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "policies.scope_required_for_invocation",
        message: "is false: agents without any scope may call what asks for none",
        remedy: "set it to true",
      },
    ];
  },
};
