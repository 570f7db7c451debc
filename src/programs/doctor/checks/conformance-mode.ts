/** Whether the seams of the public test suite are open. */
import type { Check } from "../finding.ts";

/** The check `conformance-mode`. */
export const conformanceMode: Check = {
  id: "conformance-mode",
  asks: "are test seams closed?",
  look: ({ config: { openwop }, configFile }) => {
    if (openwop["conformance"] !== true) return [];
    return [
      {
        severity: "error",
        file: configFile,
        key: "openwop.conformance",
        message: "is true: callers can make agents answer what they like",
        remedy: "delete the line, and run the public suite against a server of its own",
      },
    ];
  },
};
