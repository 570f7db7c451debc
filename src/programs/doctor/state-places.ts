/** The places where a deployment keeps its state; one that is not there was never made. */
import { join } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { stateDirectory as stateDirectoryOf } from "../../state/state-directory.ts";

/** `.agtp/` */
export function stateDirectory({ directory }: Pick<Config, "directory">): string {
  return stateDirectoryOf(directory);
}

/** The certificate that the daemon makes itself. */
export function madeCertificate(config: Pick<Config, "directory">): string {
  return join(stateDirectory(config), "tls", "cert.pem");
}

/** The key of that certificate. */
export function madeCertificateKey(config: Pick<Config, "directory">): string {
  return join(stateDirectory(config), "tls", "key.pem");
}

/** The directories that `agtp-keys` puts keys and certificates into unless it is told otherwise. */
export function keyDirectory(config: Pick<Config, "directory">): string {
  return join(stateDirectory(config), "keys");
}
