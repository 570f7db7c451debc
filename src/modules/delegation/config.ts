/** `[delegation]` and `[[peers]]`: delegation of tasks between agents and servers.   AGTP "DELEGATE" */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  count,
  fingerprint,
  list,
  optional,
  path,
  publicKey,
  type Schema,
  scopeToken,
  table,
  text,
  word,
} from "../../schema/section-field.ts";

/** `[delegation]`, with every default filled in. */
export interface DelegationConfig {
  readonly maxDepth: number;
  readonly maxSeconds: number;
}

/** One entry of `[[peers]]`. */
export interface PeerConfig {
  readonly name: string;
  readonly serverId: string;
  readonly publicKey: string;
  readonly uri?: string;
  readonly agents: readonly string[];
  readonly scopes: readonly string[];
  readonly acceptScopes: readonly string[];
  readonly zone?: string;
  /** `ca`, `cert` and `key` are absolute paths. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly timeoutSeconds: number;
  readonly maxConnections: number;
}

const peer = table(
  "An AGTP server that tasks are handed on to, or taken from",
  {
    name: optional(
      word("", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "a name without spaces", "How agents name it"),
    ),
    server_id: optional(text("", "What it calls itself: the iss and aud of tokens")),
    public_key: optional(
      publicKey("Its signing key, by which its tokens and records are believed"),
    ),
    uri: optional(
      word(
        "",
        "^agtp://(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?/?$",
        'a server like "agtp://annex.example:4480"',
        "Where it is asked; without it, tasks only come from it",
      ),
    ),
    agents: list(
      text("", ""),
      "Its agents, that tasks may go to and come from; none: those that its manifest shows",
    ),
    scopes: list(scopeToken(""), "What may be handed on to it, at most"),
    accept_scopes: list(scopeToken(""), "What tasks from it may use, at most"),
    zone: optional(text("", "Its governance zone")),
    ca: optional(path("", "The CA of its certificate; without it, those of the system")),
    fingerprint: optional(
      fingerprint("The fingerprint of its certificate, which must then be this one"),
    ),
    cert: optional(path("", "Our certificate for it, in PEM")),
    key: optional(path("", "The private key of cert, in PEM")),
    timeout_seconds: count(30, "How long it may take to answer", 86_400),
    max_connections: count(4, "Tasks under way there at once, each on a connection", 256),
  },
  ["name", "server_id", "public_key"],
);

/** The schema of `[delegation]`. */
export const delegationSection: Schema = table("Tasks that agents hand on", {
  max_depth: count(4, "Most times that a task is handed on", 16),
  max_seconds: count(3600, "How long a task may take that nobody waits for", 86_400),
});

/** The schema of `[[peers]]`. */
export const peersSection: Schema = list(
  peer,
  "AGTP servers that tasks are handed on to, and taken from",
);

export interface DelegationSections extends Taking<"agents" | "limits" | "server"> {
  readonly delegation: DelegationConfig;
  readonly peers: readonly PeerConfig[];
}

export type DelegationContext = ModuleContext<DelegationSections>;
