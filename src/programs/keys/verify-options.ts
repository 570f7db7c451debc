/** The options of `agtp-keys verify`. */
import type { Line } from "../shell/command-line.ts";

/** The files; none with --chain. */
export const VERIFY_ARGS = {
  "[files...]": "Genesis, identity document, certificate, key, record or manifest",
} as const;

/** The keys to verify with, and the server to ask for a chain. */
export const VERIFY_OPTIONS = {
  "--json": "print JSON",
  "--key <key>": {
    help: "what records and manifests are signed with: file or base64url",
    isRepeated: true,
  },
  "--issuer-key <key>": {
    help: "an issuer that is trusted: file or base64url; repeatable",
    isRepeated: true,
  },
  "--ca <file>": "authorities to trust, PEM",
  "--chain <where>": "a journal directory, or agtp://HOST to ask by INSPECT",
  "--archive <directory>": "where [attribution.retention] moved older segments",
  "--agent <id>": "whose chain",
  "--head <audit-id>":
    "a record that was in the chain, or agtp://HOST to ask for the newest: says where the chain was cut",
  "--passkey <file>": {
    help: "the public key of an operator's passkey, JWK or PEM: no other may have signed approvals; repeatable",
    isRepeated: true,
  },
  "--agent-id <id>": "Agent-ID: who asks; default: the agent itself",
  "--client-cert <file>": "certificate of who asks, PEM",
  "--client-key <file>": "its key, PEM",
  "--insecure": "trust any certificate of the server",
} as const;

/** The command line, as written. */
export type VerifyLine = Line<typeof VERIFY_ARGS, typeof VERIFY_OPTIONS>;
