/** The keys whose signatures on packs count, from the files that the operator names. */
import { readBoundedFile } from "../../base/bounded-file.ts";
import { joinKey } from "../../base/dotted-key.ts";
import { quoteValue } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import { type Ed25519PublicKey, readPublicKey } from "../../identity/ed25519.ts";

const MAX_KEY_BYTES = 65_536;

/** The keys by publicKeyRef; `file` is the configuration. */
export function readPackKeys(
  paths: Readonly<Record<string, string>>,
  file: string,
): {
  readonly keys: ReadonlyMap<string, Ed25519PublicKey>;
  readonly problems: readonly Problem[];
} {
  const keys = new Map<string, Ed25519PublicKey>();
  const problems: Problem[] = [];
  for (const [name, path] of Object.entries(paths)) {
    const { text, fault } = readBoundedFile(path, MAX_KEY_BYTES);
    const key = text === undefined ? undefined : readPublicKey(text);
    if (key !== undefined) keys.set(name, key);
    else {
      const message = `${quoteValue(path)} ${fault ?? "must be an Ed25519 public key, PEM or base64url"}`;
      problems.push({ file, key: joinKey("openwop.trusted_keys", name), message });
    }
  }
  return { keys, problems };
}
