/** `[server]`: who this server is and where it listens. */
import { choice, optional, port, type Schema, table, text, word } from "../schema/section-field.ts";
import { host } from "../schema/section-words.ts";

/** `[server]` */
export interface ServerConfig {
  readonly serverId: string;
  readonly operator?: string;
  readonly contact?: string;
  readonly domain?: string;
  readonly host: string;
  readonly port: number;
  /** "auto" is one a core. */
  readonly workers: number | "auto";
  readonly documentVersion?: string;
  readonly onInvalid: "skip" | "fail";
}

/** Its schema. */
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
    port: port(4480, "TCP port to listen on; 0 takes any free one"),
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
