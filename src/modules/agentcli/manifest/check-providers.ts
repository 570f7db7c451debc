/**
 * Profiles that name what this program does not have, or that lack what their provider cannot do
 * without. Nothing is asked and nothing is read.   agentcli spec "Providers"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization-providers.ts";
import { EVIDENCE_PROVIDERS } from "../governance/evidence-providers.ts";
import { PROOF_VERIFIERS } from "../governance/proof-verifiers.ts";
import { IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { records } from "./check-references.ts";
import type { Findings } from "./finding.ts";
import type { ProfileFault } from "./profile-fault.ts";

interface Registered {
  /** The keys of `provider_config`; undefined: profiles of this kind have none. */
  readonly settings?: readonly string[];
  check(profile: JsonRecord): readonly ProfileFault[];
}

interface Kind {
  readonly list: string;
  readonly key: string;
  readonly title: string;
  readonly known: ReadonlyMap<string, Registered>;
}

const KINDS: readonly Kind[] = [
  {
    list: "identity_profiles",
    key: "provider",
    title: "identity provider",
    known: IDENTITY_PROVIDERS,
  },
  {
    list: "authorization_proof_profiles",
    key: "method",
    title: "authorization proof verifier",
    known: PROOF_VERIFIERS,
  },
  {
    list: "authorization_profiles",
    key: "provider",
    title: "authorization provider",
    known: AUTHORIZATION_PROVIDERS,
  },
  {
    list: "evidence_profiles",
    key: "provider",
    title: "evidence provider",
    known: EVIDENCE_PROVIDERS,
  },
];

/** Checks the profiles of a 0.2 manifest. */
export function checkProviders(findings: Findings, manifest: JsonRecord): void {
  for (const { list, key, title, known } of KINDS) {
    for (const [path, profile] of records(`$.${list}`, manifest[list])) {
      const name = profile[key];
      // A value that is missing or no text has been reported; a proof without a method is "none".
      if (typeof name !== "string" || name.trim() === "" || !isRecord(profile)) continue;
      const registered = known.get(name);
      if (registered === undefined) {
        findings.error(`${path}.${key}`, `unknown ${title} "${name}"`);
        continue;
      }
      for (const [field, message] of registered.check(profile)) {
        findings.error(`${path}.${field}`, message);
      }
      if (registered.settings === undefined) continue;
      const { auth, provider_config: settings } = profile;
      const inner = isRecord(auth) ? auth["provider_config"] : undefined;
      for (const [place, value] of [
        ["provider_config", settings],
        ["auth.provider_config", inner],
      ] as const) {
        for (const [setting, message] of checkSettings(value, registered.settings)) {
          findings.error(`${path}.${place}.${setting}`, message);
        }
      }
    }
  }
}

/** The settings that nobody reads: a misspelt one must not look heeded. */
export function checkSettings(
  settings: unknown,
  known: readonly string[],
): readonly (readonly [key: string, message: string])[] {
  return Object.keys(isRecord(settings) ? settings : {})
    .filter((key) => !known.includes(key))
    .map((key) => {
      const expected =
        known.length === 0 ? "this provider has none" : `one of: ${known.join(", ")}`;
      return [key, `unknown provider_config key "${key}", ${expected}`] as const;
    });
}
