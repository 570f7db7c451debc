/**
 * `agtp-keys`: makes and verifies keys, documents, certificates and records. The exit code is 0
 * when it was done or everything verified, 1 when a check failed or the command was refused, 2 when
 * it could not be carried out.
 */

import { createPrivateKey } from "node:crypto";
import { makeKey } from "../../identity/certificate-writer.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { keyId } from "../../identity/jws.ts";
import { type Command, command, usage } from "../shell/command.ts";
import { writeFiles } from "../shell/write-files.ts";
import { agentCaCommand, agentCertCommand } from "./certificate-commands.ts";
import { genesisCommand } from "./genesis-command.ts";
import { MAKING_OPTIONS, printFacts } from "./key-files.ts";
import { verifyChainOf } from "./verify-chain-command.ts";
import { VERIFY_ARGS, VERIFY_OPTIONS, verifyFiles } from "./verify-files.ts";

const repairCommand: Command = command({
  name: "repair",
  description: "Goes on with a journal that lost records: each chain says which, in a new record.",
  options: {
    "--json": "print JSON",
    "--config <file>": { help: "configuration of the deployment", default: "agtp-server.toml" },
    "--reason <text>": "why the loss is accepted; stands in the records",
  },
  run: async (line, terminal) => {
    // Loaded on demand: only this command needs a deployment and its store, which take longest to load.
    const { repairDeployment } = await import("./repair.ts");
    return repairDeployment(line, terminal);
  },
});

const signingCommand: Command = command({
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

/** The command; returns whether everything verified. */
const verifyCommand: Command = command({
  name: "verify",
  description: "Verifies files, recognised by their content, or an attribution chain.",
  args: VERIFY_ARGS,
  options: VERIFY_OPTIONS,
  run: (line, terminal) => {
    const { chain, files } = line;
    if (chain !== undefined) return verifyChainOf({ ...line, chain }, terminal);
    if (files.length === 0) throw usage("expected files to verify, or --chain");
    return verifyFiles(line, terminal, Date.now());
  },
});

const NOTES = `
Examples:
  agtp-keys signing
  agtp-keys genesis --name lauren --principal "Acme Retail" --owner-id acme --issuer-key .agtp/keys/signing.pem
  agtp-keys agent-ca
  agtp-keys agent-cert --ca-cert .agtp/keys/agents-ca.pem --ca-key .agtp/keys/agents-ca-key.pem --genesis agents/lauren.genesis.json
  agtp-keys verify agents/lauren.genesis.json agents/lauren.agent.json
  agtp-keys verify --chain .agtp/journal --agent 4f… --key .agtp/keys/signing.pem
  agtp-keys verify --chain backup/journal --agent 4f… --head agtp://agents.acme.example
  agtp-keys repair --config agtp-server.toml --reason "the disk of host a was lost"

Exit codes: 0 done, 1 a check failed or the answer is no, 2 it could not be asked.`;

export const keysProgram: Command = {
  name: "agtp-keys",
  description: "Makes and verifies keys, identities, certificates and attribution chains.",
  notes: NOTES,
  commands: [
    signingCommand,
    genesisCommand,
    agentCaCommand,
    agentCertCommand,
    verifyCommand,
    repairCommand,
  ],
};
