/** `agtp-keys signing`: a new key for Attribution-Records, manifests and Geneses. */
import { createPrivateKey } from "node:crypto";
import { makeKey } from "../../identity/certificate-keys.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { keyId } from "../../identity/jws.ts";
import type { Terminal } from "../shell/terminal.ts";
import { writeFiles } from "../shell/write-files.ts";
import type { SigningLine } from "./command-options.ts";
import { printFacts } from "./print-facts.ts";

/** Makes the key; what is printed of it is its public half. */
export function makeSigningKey(line: SigningLine, terminal: Terminal): void {
  const { out, force = false, json = false } = line;
  const pem = makeKey("ed25519");
  writeFiles(terminal.directory, [{ path: out, content: pem, isSecret: true }], force);
  const key = publicKeyOf(createPrivateKey(pem));
  printFacts({ file: out, public_key: key?.text, kid: key && keyId(key) }, json, terminal);
}
