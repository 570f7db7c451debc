/** The options that every command of `agtp` has, and the line that each comes down to. */
import type { Options } from "../shell/command-line.ts";

/** Options for the caller, for trust and for the output. */
export const EXCHANGE_OPTIONS = {
  "-H, --header <field>": { help: "'Name: value'; may be repeated", isRepeated: true },
  "--agent-id <id>": "Agent-ID: who asks; default: the agent of --cert",
  "--owner-id <id>": "Owner-ID: for whom",
  "--scope <scopes>": "Authority-Scope: a:b,c:d",
  "--cert <file>": "certificate of the agent, PEM",
  "--key <file>": "its key, PEM",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--insecure": "trust any certificate",
  "-i, --include": "print the status line and header fields too",
  "--json": "print {status, headers, body}",
} as const;

/** One request, as written. */
export interface ExchangeLine extends Options<typeof EXCHANGE_OPTIONS> {
  readonly uri: string;
  readonly method?: string;
  readonly path?: string;
  readonly data?: string;
  readonly envelope?: boolean;
  /** Asked as the operator that `--cert` proves, and not as an agent. */
  readonly isOperator?: boolean;
  /** The response is shown as a list of escalations. */
  readonly isEscalationList?: boolean;
}
