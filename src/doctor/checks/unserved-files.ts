/** Files that the daemon passes over, or takes with a reservation, when it starts. */
import { isError } from "../../problem.ts";
import type { Check } from "../finding.ts";

export const unservedFiles: Check = {
  id: "unserved-files",
  asks: "is everything that was written also served?",
  look: ({ problems, config }) =>
    problems.map(({ file, key, message, hint, ...problem }) => {
      const isLost = isError({ file, key, message, ...problem });
      const stops = config.server.onInvalid === "fail" ? "stops the start" : "is not served";
      return {
        severity: isLost ? "error" : "note",
        file,
        key,
        message: isLost ? `${message}; this ${stops}` : message,
        remedy: hint ?? "agtpd --check shows it, and the handlers with it",
      };
    }),
};
