/** The configuration of stored state and signing: `[store]`, `[cluster]`, `[signing]` and `[attribution]`. */
import {
  choice,
  count,
  flag,
  milliseconds,
  optional,
  path,
  type Schema,
  secret,
  table,
  word,
} from "../schema/section-field.ts";
import type { RetentionLimits } from "./journal/retention.ts";

/** The keys of `[store]`. */
export interface StoreConfig {
  readonly driver: "sqlite" | "memory" | "postgres";
  readonly path: string;
  readonly url?: string;
  readonly schema: string;
  readonly ca?: string;
}

/** The keys of `[cluster]`. */
export interface ClusterConfig {
  readonly node?: string;
  readonly viewLeaseMs: number;
}

/** The keys of `[signing]`. */
export interface SigningConfig {
  readonly key?: string;
}

/** When a reply may leave: once the kernel has its record, or once the disk has it. */
export type Durability = "process" | "power";

/** The keys of `[attribution]`. */
export interface AttributionConfig {
  readonly enabled: boolean;
  readonly durability: Durability;
  readonly retention?: RetentionLimits;
}

/** The schema of `[store]`. */
export const storeSection: Schema = table("Where contracts, records and runs are kept", {
  driver: choice(
    "sqlite",
    ["sqlite", "memory", "postgres"],
    "Where it is kept; memory is lost when the server ends",
  ),
  path: path(".agtp/state.db", "The database file of sqlite"),
  url: optional({
    ...secret("The database of postgres; its password is best taken from the environment"),
    pathParameters: ["sslcert", "sslkey", "sslrootcert"],
  }),
  schema: word(
    "agtp",
    "^[a-z_][a-z0-9_]{0,62}$",
    "up to 63 of a-z 0-9 _ that start with a letter",
    "The schema that holds the tables of postgres",
  ),
  ca: optional(path("", "CA certificates in PEM that the server of postgres is verified by")),
});

/** The schema of `[cluster]`. */
export const clusterSection: Schema = table("This daemon as one of several on one store", {
  node: optional(
    word(
      "",
      "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$",
      "up to 128 of A-Z a-z 0-9 - _ . : that start with a letter or a digit",
      "The name that no other node has; the host's name and its port without this",
    ),
  ),
  view_lease_ms: {
    ...milliseconds(
      2000,
      "How long a node that the store has not answered serves from what it knows",
      500,
    ),
    maximum: 60_000,
  },
});

/** The schema of `[signing]`. */
export const signingSection: Schema = table("The server's signing key", {
  key: optional(path("", "Ed25519 private key in PEM; without it, records have alg none")),
});

/** The schema of `[attribution]`. */
export const attributionSection: Schema = table("Attribution-Records", {
  enabled: flag(true, "Whether responses carry an Attribution-Record"),
  durability: choice(
    "process",
    ["process", "power"],
    "What the record of a sent reply survives: the end of the process, or a power cut",
  ),
  retention: optional(
    table("How much of the journal is kept; all of it without this", {
      days: optional(
        count(90, "A segment goes once its newest record is older than this many days", 36_500),
      ),
      bytes: optional(
        count(
          10_737_418_240,
          "The oldest segments go while all of them together have more octets",
          2 ** 50,
          64 * 1024 * 1024,
        ),
      ),
      archive: optional(path("", "Where segments are moved to; without it they are deleted")),
    }),
  ),
});
