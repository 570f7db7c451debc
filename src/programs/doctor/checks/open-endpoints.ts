/** Endpoints that cannot be undone and that ask for no scope of their own.   AGTP-API §7.1 */
import type { Check } from "../finding.ts";

/** The check `open-endpoints`. */
export const openEndpoints: Check = {
  id: "open-endpoints",
  asks: "does what cannot be undone need a scope?",
  look: ({ endpoints }) =>
    endpoints.flatMap(({ file, method, path, semantic, requiredScopes }) => {
      if (semantic.impact !== "irreversible" || requiredScopes.length > 0) return [];
      const message = `${method} ${path} is irreversible, and any agent that is known may call it`;
      const remedy = "give it required_scopes, and the scope to the agents that need it";
      return [{ severity: "warning", file, key: "endpoint.required_scopes", message, remedy }];
    }),
};
