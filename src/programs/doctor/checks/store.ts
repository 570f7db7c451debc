/** Whether anything outlives the process. */
import type { Check } from "../finding.ts";

/** The check `store`. */
export const store: Check = {
  id: "store",
  asks: "is state kept?",
  look: ({ config, configFile }) => {
    if (config.store.driver !== "memory") return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "store.driver",
        message: 'is "memory": records, contracts and revocations end with the process',
        remedy: 'set it to "sqlite"',
      },
    ];
  },
};
