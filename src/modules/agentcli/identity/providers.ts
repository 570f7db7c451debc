/**
 * The identity providers of this program: none, a token from the environment, a token from a file, and a token with a
 * delegation chain. Other providers are not listed, and a manifest that names one is invalid.   agentcli execution
 * identity "Identity providers"
 */
import { resolve } from "node:path";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { isRecord, type JsonRecord, recordIn, textIn } from "../../../base/json-value.ts";
import type { EffectiveIdentity } from "../compile/merge.ts";
import { type Failure, failure } from "../failure.ts";
import { checkKeySource } from "../governance/keys.ts";
import { TRUST_LEVELS } from "../manifest/fields.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { World } from "../world.ts";
import { readChain } from "./delegation.ts";
import { bearerSession, emptySession, type Session } from "./session.ts";

/** The capabilities of a provider; keys are the protocol's. */
interface IdentityCapabilities {
  readonly auth_modes: readonly string[];
  readonly credential_types: readonly string[];
  readonly presentation_kinds: readonly string[];
  readonly handoff_modes: readonly string[];
  readonly refreshable: boolean;
  readonly delegation: boolean;
  readonly trust_levels: readonly string[];
  readonly approval_mechanisms: readonly string[];
}

interface IdentityProvider {
  readonly capabilities: IdentityCapabilities;
  /** The supported keys of `provider_config`. */
  readonly settings: readonly string[];
  /** Reports missing or invalid settings without reading files. */
  check(profile: JsonRecord): readonly ProfileFault[];
  resolve(
    identity: EffectiveIdentity,
    world: Pick<World, "env" | "directory" | "keySets">,
  ): Session | Failure | Promise<Session | Failure>;
}

const NO_CREDENTIALS: IdentityCapabilities = {
  auth_modes: ["none"],
  credential_types: [],
  presentation_kinds: ["none"],
  handoff_modes: ["none"],
  refreshable: false,
  delegation: false,
  trust_levels: TRUST_LEVELS,
  approval_mechanisms: [],
};

const BEARER: IdentityCapabilities = {
  ...NO_CREDENTIALS,
  auth_modes: ["service"],
  credential_types: ["access_token"],
  presentation_kinds: ["env", "file"],
};

const MAX_TOKEN_BYTES = 65_536;
const TOKEN_INPUTS = ["token", "access_token", "bearer_token"];

/** Providers by name, in listing order. */
export const IDENTITY_PROVIDERS: ReadonlyMap<string, IdentityProvider> = new Map(
  Object.entries<IdentityProvider>({
    none: {
      capabilities: NO_CREDENTIALS,
      settings: [],
      check: () => [],
      resolve: (identity) => emptySession("none", identity),
    },
    "env-bearer": {
      capabilities: BEARER,
      settings: ["token_env"],
      check: (profile) =>
        tokenVariable(settingsOf(profile)) === undefined
          ? [
              [
                "auth.provider_config.token_env",
                "must name the environment variable with the token",
              ],
            ]
          : [],
      resolve: (identity, { env }) =>
        asSession("env-bearer", identity, tokenOfVariable(identity, env)),
    },
    "file-bearer": {
      capabilities: BEARER,
      settings: ["token_file"],
      check: (profile) =>
        tokenFile(settingsOf(profile), {}) === undefined
          ? [["auth.provider_config.token_file", "must name the file with the token"]]
          : [],
      resolve: (identity, world) =>
        asSession("file-bearer", identity, tokenOfFile(identity, world)),
    },
    "delegated-bearer": {
      capabilities: { ...BEARER, auth_modes: ["delegated", "on-behalf-of"], delegation: true },
      settings: ["token_env", "token_file", "public_key", "jwks_uri"],
      check: (profile) => {
        const settings = settingsOf(profile);
        const sources = [tokenVariable(settings), tokenFile(settings, {})];
        const isOne = sources.filter((one) => one !== undefined).length === 1;
        const place = "auth.provider_config.";
        const faults = checkKeySource(recordIn(settings.provider_config), place);
        if (isOne) return faults;
        return [
          [`${place}token_env`, "exactly one of token_env and token_file is required"],
          ...faults,
        ];
      },
      resolve: async (identity, world) => {
        const hasVariable = tokenVariable(identity.auth) !== undefined;
        const token = hasVariable
          ? tokenOfVariable(identity, world.env)
          : tokenOfFile(identity, world);
        if (typeof token !== "string") return asSession("delegated-bearer", identity, token);
        const chain = await readChain(token, identity.auth, world.keySets);
        if (typeof chain === "string") {
          return failure("identity_resolution_failed", `the delegated token ${chain}`);
        }
        return bearerSession("delegated-bearer", identity, token, chain);
      },
    },
  }),
);

/** Creates the session; an absent token is undefined if optional and a failure if required. */
function asSession(
  provider: string,
  identity: EffectiveIdentity,
  token: string | Failure | undefined,
): Session | Failure {
  if (typeof token === "string") return bearerSession(provider, identity, token);
  return token ?? emptySession(provider, identity);
}

function tokenOfVariable(
  { auth }: EffectiveIdentity,
  env: World["env"],
): string | Failure | undefined {
  const name = tokenVariable(auth) ?? "";
  const token = env[name];
  if (token !== undefined && token !== "") return token;
  if (auth.required === false) return undefined;
  const message = `Bearer token not found: environment variable "${name}" is not set or is empty`;
  return failure("token_not_found", message);
}

function tokenOfFile(
  { auth }: EffectiveIdentity,
  { env, directory }: Pick<World, "env" | "directory">,
): string | Failure | undefined {
  const isRequired = auth.required !== false;
  const file = tokenFile(auth, env);
  if (file === undefined || file === "") {
    return isRequired
      ? failure("token_file_not_found", "Token file not found: no file is named")
      : undefined;
  }
  const { text, fault } = readBoundedFile(resolve(directory, file), MAX_TOKEN_BYTES);
  const token = text?.trim();
  if (token !== undefined && token !== "") return token;
  if (!isRequired) return undefined;
  return text === undefined
    ? failure("token_file_not_found", `Token file "${file}" ${fault}`)
    : failure("token_file_empty", `Token file "${file}" is empty`);
}

interface Settings {
  readonly provider_config?: unknown;
  readonly inputs?: unknown;
}

/** The settings of a profile, merged from both places that may have them. */
function settingsOf({ auth, provider_config: outer }: JsonRecord): Settings {
  const { provider_config: inner, inputs } = recordIn(auth);
  return { provider_config: { ...recordIn(outer), ...recordIn(inner) }, inputs };
}

/** The name of the token's variable; the token itself never stands in a manifest. */
function tokenVariable({ provider_config, inputs }: Settings): string | undefined {
  const inputsOf = TOKEN_INPUTS.map((key) => environmentOf(recordIn(inputs)[key]));
  const names = [recordIn(provider_config)["token_env"], ...inputsOf];
  return names.find((name): name is string => typeof name === "string" && name !== "");
}

function environmentOf(input: unknown): unknown {
  const source = recordIn(input)["value_from"];
  return isRecord(source) ? source["env"] : input;
}

function tokenFile({ provider_config, inputs }: Settings, env: World["env"]): string | undefined {
  const named = textIn(recordIn(provider_config)["token_file"]) ?? "";
  if (named !== "") return named;
  const source = recordIn(recordIn(recordIn(inputs)["token_file"])["value_from"]);
  const path = textIn(source["file"]) ?? textIn(source["literal"]);
  const variable = textIn(source["env"]);
  return path ?? (variable === undefined ? undefined : (env[variable] ?? ""));
}

/** A requirement that the identity's provider cannot meet. */
interface Unable {
  readonly field: "auth.mode" | "presentation.handoff";
  readonly message: string;
}

/**
 * Finds modes and handoffs that a provider does not support; "none" requires nothing. Checked at validation and again
 * at use.
 */
export function findUnable(
  {
    auth: { mode },
    presentation: { handoff },
  }: {
    readonly auth: { readonly mode: string | null };
    readonly presentation: { readonly handoff: string | null };
  },
  { auth_modes: modes, handoff_modes: handoffs }: IdentityCapabilities,
): readonly Unable[] {
  const asked = [
    ["auth.mode", mode ?? "none", modes],
    ["presentation.handoff", handoff ?? "none", handoffs],
  ] as const;
  return asked.flatMap(([field, word, known]) => {
    if (word === "none" || known.includes(word)) return [];
    return [{ field, message: `cannot do "${word}", only: ${known.join(", ")}` }];
  });
}
