/**
 * `agtp-keys`: makes and verifies what identity rests on. The exit code is 0 when it was done or
 * everything verified, 1 when a check failed or the answer is no, 2 when it could not be asked.
 */
import type { Command } from "../shell/command.ts";
import { agentCaCommand, agentCertCommand } from "./certificate-commands.ts";
import { genesisCommand } from "./genesis-command.ts";
import { repairCommand } from "./repair-command.ts";
import { signingCommand } from "./signing-command.ts";
import { verifyCommand } from "./verify-command.ts";

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

/** The program. */
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
