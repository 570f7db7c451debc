/** Files that the daemon passes over, or does not start with. Handlers are not loaded for this. */
import { isError } from "../../../base/problem.ts";
import type { Check } from "../finding.ts";

/** The check `unserved-files`. */
export const unservedFiles: Check = {
  id: "unserved-files",
  asks: "is everything that was written also served?",
  look: ({ problems, config }) => {
    const effect = config.server.onInvalid === "fail" ? "stops the start" : "is not served";
    return problems.filter(isError).map(({ file, key, message, hint }) => {
      const remedy = hint ?? "correct it; agtpd --check looks at it again, and loads the handlers";
      return { severity: "error", file, key, message: `${effect}: ${message}`, remedy };
    });
  },
};
