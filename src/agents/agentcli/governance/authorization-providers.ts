/**
 * The authorization providers that this program has: none, which permits, and the Open Policy Agent.
 * agentcli execution identity "Authorization"
 */
import { isRecord, type JsonRecord } from "../../../json-value.ts";
import type { EffectiveAuthorization } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import type { World } from "../world.ts";

/** What a provider says, in its own words. */
export type ProviderAnswer =
  | { readonly kind: "answer"; readonly value: string; readonly reason: string | null }
  | { readonly kind: "fault"; readonly message: string };

/** Decides whether a task may run. */
export interface AuthorizationProvider {
  readonly capabilities: JsonRecord;
  /** What the profile lacks; nothing is asked. */
  check(profile: JsonRecord): readonly ProfileFault[];
  /** The place of its policy, for the record. */
  policyRef(authorization: EffectiveAuthorization): string | null;
  ask(
    request: JsonRecord,
    authorization: EffectiveAuthorization,
    world: Pick<World, "askJson">,
  ): Promise<ProviderAnswer>;
}

const none: AuthorizationProvider = {
  capabilities: {
    decision_kinds: ["permit", "deny"],
    escalation: false,
    batch: false,
    dry_run: false,
  },
  check: () => [],
  policyRef: () => null,
  ask: () => {
    const reason = "no external authorization configured; default permit";
    return Promise.resolve({ kind: "answer", value: "permit", reason });
  },
};

const opa: AuthorizationProvider = {
  capabilities: {
    decision_kinds: ["permit", "deny", "require-escalation"],
    escalation: true,
    batch: false,
    dry_run: true,
  },
  check: ({ provider_config: settings }) => {
    const endpoint = isRecord(settings) ? settings["endpoint"] : undefined;
    if (typeof endpoint !== "string" || endpoint.trim() === "") {
      return [["provider_config.endpoint", "provider_config.endpoint must be a non-empty string"]];
    }
    return [];
  },
  policyRef: ({ provider_config: settings }) =>
    withoutSecrets(String(settings?.["endpoint"] ?? "")),
  ask: async (input, { provider_config: settings }, world) => {
    const endpoint = String(settings?.["endpoint"] ?? "");
    if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint)) {
      return { kind: "fault", message: "its endpoint is no http or https URL" };
    }
    const answer = await world.askJson(endpoint, { input });
    return answer.kind === "fault" ? answer : readResult(answer.value);
  },
};

/** By name, in the order in which they are listed. */
export const AUTHORIZATION_PROVIDERS: ReadonlyMap<string, AuthorizationProvider> = new Map([
  ["none", none],
  ["opa", opa],
]);

/** A URL may have a password in it, or a key behind its question mark. */
function withoutSecrets(endpoint: string): string {
  if (!URL.canParse(endpoint)) return endpoint;
  const { protocol, host, pathname } = new URL(endpoint);
  return `${protocol}//${host}${pathname}`;
}

/** `{"result": true}`, `{"result": {"allow": true, "reason": "…"}}`, or a word. */
function readResult(body: unknown): ProviderAnswer {
  const result = isRecord(body) ? body["result"] : undefined;
  if (typeof result === "boolean") return answer(result);
  if (typeof result === "string") return { kind: "answer", value: result, reason: null };
  if (!isRecord(result) || typeof result["allow"] !== "boolean") {
    return { kind: "answer", value: "deny", reason: "unexpected OPA result type" };
  }
  const { allow, reason } = result;
  return answer(allow, typeof reason === "string" ? reason : null);
}

function answer(isAllowed: boolean, reason: string | null = null): ProviderAnswer {
  return { kind: "answer", value: isAllowed ? "permit" : "deny", reason };
}
