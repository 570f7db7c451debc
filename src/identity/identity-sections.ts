/** `[server]`, `[agents]` and `[tls]`: the server's identity, its agents, and its TLS certificate. */
import {
  choice,
  host,
  optional,
  path,
  port,
  type Schema,
  table,
  text,
  word,
} from "../schema/section-field.ts";

/** `[server]` */
export interface ServerConfig {
  readonly serverId: string;
  readonly operator?: string;
  readonly contact?: string;
  readonly domain?: string;
  readonly host: string;
  readonly port: number;
  /** "auto" means one for each core. */
  readonly workers: number | "auto";
  readonly documentVersion?: string;
  readonly onInvalid: "skip" | "fail";
}

export const serverSection: Schema = table(
  "Who this server is and where it listens",
  {
    server_id: optional(
      word(
        "",
        "^[\\x21-\\x7e]{1,253}$",
        "up to 253 visible ASCII characters",
        "Sent as Server-ID on every response, and in the manifest",
      ),
    ),
    operator: optional(text("", "Who runs the server, as the manifest says it")),
    contact: optional(text("", "Where to reach the operator, as the manifest says it")),
    domain: optional(text("", "The domain the server speaks for, as the manifest says it")),
    host: host(
      "127.0.0.1",
      "Address to listen on; beyond loopback, [tls] and [policies.identity] must allow it",
    ),
    port: port(4480),
    workers: {
      default: 1,
      description:
        'Processes that answer on one port, over one state: a number, or "auto" for one a core',
      if: { type: "integer" },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
      then: { type: "integer", minimum: 1, maximum: 1024 },
      else: { enum: ["auto"], expected: 'a whole number or "auto"' },
    },
    document_version: optional(
      text("", "Version of the manifest; without it, made from its content"),
    ),
    on_invalid: choice(
      "skip",
      ["skip", "fail"],
      "A bad endpoint, recipe, agent or pack: skip it and serve the rest, or fail the start",
    ),
  },
  ["server_id"],
);

/** `[agents]` */
export interface AgentsConfig {
  readonly dir: string;
  readonly disclosure: "public" | "authenticated" | "private";
  readonly disclosureNotice?: string;
  readonly default?: string;
}

export const agentsSection: Schema = table("The agents this server knows", {
  dir: path("agents", "Directory of *.agent.json and *.genesis.json"),
  disclosure: choice(
    "public",
    ["public", "authenticated", "private"],
    "Who is shown the hosted agents: anybody, known agents, or nobody",
  ),
  disclosure_notice: optional(text("", "What the manifest says to those who are not shown them")),
  default: optional(text("", "Name of the agent that is addressed when a request names none")),
});

/** `[tls]` */
export interface TlsConfig {
  /** Absolute paths; both or neither. */
  readonly cert?: string;
  readonly key?: string;
  readonly clientAuth: "none" | "optional" | "required";
  readonly clientCa?: string;
}

export const tlsSection: Schema = table("Transport security; TLS 1.3 only", {
  cert: optional(
    path(
      "",
      "Certificate chain in PEM; without cert and key, one for loopback is made under .agtp/tls",
    ),
  ),
  key: optional(path("", "Private key of the certificate, in PEM")),
  client_auth: choice(
    "none",
    ["none", "optional", "required"],
    "Whether agents are asked for a certificate, and whether they must have one",
  ),
  client_ca: optional(path("", "CAs that agents' certificates are checked against, in PEM")),
});
