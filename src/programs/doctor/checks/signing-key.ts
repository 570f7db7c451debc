/** Whether records prove anything.   AGTP-IDENTIFIERS "Attribution-Record" */
import type { Check } from "../finding.ts";

/** The check `signing-key`. */
export const signingKey: Check = {
  id: "signing-key",
  asks: "are records made, and signed?",
  look: ({ config: { signing, attribution }, configFile: file }) => {
    if (!attribution.enabled) {
      const message = "is false: no response has a record of who asked for what";
      const remedy = "set it to true";
      return [{ severity: "warning", file, key: "attribution.enabled", message, remedy }];
    }
    if (signing.key !== undefined) return [];
    const message = 'is missing: records have alg "none" and prove nothing';
    const remedy = 'agtp-keys signing, then key = ".agtp/keys/signing.pem" under [signing]';
    return [{ severity: "warning", file, key: "signing.key", message, remedy }];
  },
};
