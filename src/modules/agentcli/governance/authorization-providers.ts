/**
 * The authorization providers that this program has: none, which permits, the Open Policy Agent, and
 * Cedar.
 * agentcli execution identity "Authorization"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { EffectiveAuthorization } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import type { World } from "../world.ts";
import { askCedar, CEDAR_SETTINGS, checkCedarSettings } from "./cedar.ts";
import type { ProviderAnswer } from "./provider-answer.ts";

/** Decides whether a task may run. */
interface AuthorizationProvider {
  readonly capabilities: JsonRecord;
  /** The keys of `provider_config` that it reads. */
  readonly settings: readonly string[];
  /** The settings that the profile lacks; nothing is asked. */
  check(profile: JsonRecord): readonly ProfileFault[];
  /** The place of its policy, for the record. */
  policyRef(authorization: EffectiveAuthorization): string | null;
  ask(
    request: JsonRecord,
    authorization: EffectiveAuthorization,
    world: Pick<World, "askJson" | "directory">,
  ): Promise<ProviderAnswer>;
}

const none: AuthorizationProvider = {
  capabilities: {
    decision_kinds: ["permit", "deny"],
    escalation: false,
    batch: false,
    dry_run: false,
  },
  settings: [],
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
  settings: ["endpoint"],
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

const cedar: AuthorizationProvider = {
  capabilities: {
    decision_kinds: ["permit", "deny"],
    escalation: false,
    batch: false,
    dry_run: true,
  },
  settings: CEDAR_SETTINGS,
  check: ({ provider_config: settings }) => checkCedarSettings(isRecord(settings) ? settings : {}),
  policyRef: ({ provider_config: settings }) => {
    const file = settings?.["policies_file"];
    return typeof file === "string" ? file : null;
  },
  ask: (request, { provider_config: settings }, { directory }) =>
    askCedar(request, settings ?? {}, directory),
};

/** By name, in the order in which they are listed. */
export const AUTHORIZATION_PROVIDERS: ReadonlyMap<string, AuthorizationProvider> = new Map([
  ["none", none],
  ["opa", opa],
  ["cedar", cedar],
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
