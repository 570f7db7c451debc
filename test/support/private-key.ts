/** Private keys of kinds that a configuration may and may not name. */
import { generateKeyPairSync } from "node:crypto";

/** A private key in PEM. */
export function makeKey(type: "ed25519" | "x25519"): string {
  // The overloads of generateKeyPairSync do not take a union.
  const { privateKey } =
    type === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("x25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
