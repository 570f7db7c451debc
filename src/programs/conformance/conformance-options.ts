/** The options of `agtp-conformance`. */
import type { Line } from "../shell/command-line.ts";

/** Its argument; only --list does without. */
export const CONFORMANCE_ARGS = { "[uri]": "agtp://HOST[:PORT]" } as const;

/** Options for the caller, for trust, for the choice of cases and for the report. */
export const CONFORMANCE_OPTIONS = {
  "--agent-id <id>": "an agent that the server knows; without it little can be asked",
  "--owner-id <id>": "Owner-ID, sent with it",
  "--scope <scopes>": "the scopes that the agent holds, sent as Authority-Scope: a:b,c:d",
  "--other-agent-id <id>": "a second agent, for what must not pass between agents",
  "-H, --header <field>": {
    help: "'Name: value' with every request; may be repeated",
    isRepeated: true,
  },
  "--cert <file>": "certificate of the agent, PEM",
  "--key <file>": "its key, PEM",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--fingerprint <sha256>": "trust the certificate with this SHA-256, and no other",
  "--insecure": "trust any certificate",
  "--allow-state-changes": "run the cases that change state as well",
  "--strict": "a SHOULD that is not met fails, too",
  "--proposal <file>": "an endpoint the server can make: {endpoint, input}, JSON",
  "--catalog <file>": "the catalog that the server uses; default: the one shipped",
  "--cases <folder>": "other cases than those shipped",
  "--only <section>": {
    help: "a section or requirement: 5.1, 13.1.4; repeatable",
    isRepeated: true,
  },
  "--clause <section>": { help: "the same", isRepeated: true },
  "--case <name>": { help: "a case by its name; repeatable", isRepeated: true },
  "--timeout <seconds>": { help: "for one case", default: "10" },
  "--total-timeout <seconds>": { help: "for all of them", default: "300" },
  "--known-failing <file>": "cases that may fail, a line each: NAME: reason",
  "--list": "print the cases, and ask nothing",
  "--json": "print JSON",
  "--junit <file>": "write JUnit XML to a file as well",
} as const;

/** The command line, as written. */
export type ConformanceLine = Line<typeof CONFORMANCE_ARGS, typeof CONFORMANCE_OPTIONS>;
