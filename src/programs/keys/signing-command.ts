/** `agtp-keys signing`: a new key for Attribution-Records, manifests and Geneses. */
import { createPrivateKey } from "node:crypto";
import { makeKey } from "../../identity/certificate-keys.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { keyId } from "../../identity/jws.ts";
import { type Command, command } from "../shell/command.ts";
import { writeFiles } from "../shell/write-files.ts";
import { MAKING_OPTIONS, printFacts } from "./print-facts.ts";

/** Makes the key, and prints its public half. */
export const signingCommand: Command = command({
  name: "signing",
  description: "Makes an Ed25519 signing key.",
  options: {
    ...MAKING_OPTIONS,
    "--out <file>": { help: "where it is kept", default: ".agtp/keys/signing.pem" },
  },
  run: ({ out, force = false, json = false }, terminal) => {
    const pem = makeKey("ed25519");
    writeFiles(terminal.directory, [{ path: out, content: pem, isSecret: true }], force);
    const key = publicKeyOf(createPrivateKey(pem));
    printFacts({ file: out, public_key: key?.text, kid: key && keyId(key) }, json, terminal);
    return true;
  },
});
