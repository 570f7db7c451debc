/** `[store]`, `[signing]` and `[attribution]`: what is kept, and how it is signed. */
import { choice, flag, optional, path, type Schema, table } from "../schema/section-field.ts";
import { secret } from "../schema/section-words.ts";

/** `[store]` */
export interface StoreConfig {
  readonly driver: "sqlite" | "memory" | "postgres";
  readonly path: string;
  readonly url?: string;
}

/** `[signing]` */
export interface SigningConfig {
  readonly key?: string;
}

/** When a reply leaves: once the kernel has its record, or once the disk has it. */
export type Durability = "process" | "power";

/** `[attribution]` */
export interface AttributionConfig {
  readonly enabled: boolean;
  readonly durability: Durability;
}

/** The schema of `[store]`. */
export const storeSection: Schema = table("Where contracts, records and runs are kept", {
  driver: choice("sqlite", ["sqlite", "memory", "postgres"], "memory forgets at the end"),
  path: path(".agtp/state.db", "The database file of sqlite"),
  url: optional(
    secret("The database of postgres; its password is best taken from the environment"),
  ),
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
    "What a reply survives that has left: the end of the process, or a power cut",
  ),
});
