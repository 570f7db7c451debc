/**
 * Asks the provider of a task's authorization (none, the Open Policy Agent or Cedar) and maps its answer to one of
 * three decisions; an unmapped answer is a denial. Also judges if an identity's trust level meets its contract.
 * agentcli execution identity "Authorization", agentcli spec "Trust enforcement"
 */
import { isRecord, type JsonRecord, recordIn, textIn } from "../../../base/json-value.ts";
import { parseUrl } from "../../../base/url-text.ts";
import {
  applyAuthorizationProfile,
  type EffectiveAuthorization,
  type MergedContract,
} from "../compile/merge.ts";
import { type Failure, failure } from "../failure.ts";
import type { FoundTask } from "../identity/find-task.ts";
import type { ResolvedIdentity } from "../identity/resolve-identity.ts";
import { compareTrust, type TrustLevel } from "../manifest/fields.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { World } from "../world.ts";
import {
  askCedar,
  CEDAR_SETTINGS,
  checkCedarSettings,
  type PolicyQuestion,
  type ProviderAnswer,
} from "./cedar.ts";

type DecisionKind = "permit" | "deny" | "require-escalation";

/** A decision; keys are the protocol's. */
export interface Decision {
  readonly decision: DecisionKind;
  readonly provider: string;
  readonly reason: string | null;
  readonly policy_ref: string | null;
  readonly escalation: null;
}

const USUAL_SECTIONS = ["identity", "contract", "command"];

/** Undefined if the task has no authorization. */
export async function authorize(
  found: Pick<FoundTask, "manifest" | "plan">,
  identity: ResolvedIdentity,
  world: Pick<World, "askJson" | "directory">,
  /** The caller, in addition to the manifest's declarations. */
  actor?: JsonRecord,
): Promise<Decision | Failure | undefined> {
  const { manifest, plan } = found;
  if (plan.authorization === null) return undefined;
  const authorization = applyAuthorizationProfile(manifest, plan.authorization);
  const name = authorization.provider ?? "none";
  const provider = AUTHORIZATION_PROVIDERS.get(name);
  if (provider === undefined) {
    const message = `Unknown authorization provider: ${name}`;
    return failure("unknown_authorization_provider", message);
  }
  const settings = authorization.provider_config ?? {};
  const policyRef = provider.policyRef(settings);
  const record = { provider: name, policy_ref: policyRef, escalation: null } as const;
  const request = requestOf(plan, identity, authorization, actor);
  const answer = await provider.ask({ request, principal: identity.principal }, settings, world);
  if (answer.kind === "fault") {
    if (authorization.on_error === "warn") {
      const reason = "authorization provider error (on_error: warn)";
      return { decision: "permit", reason, ...record };
    }
    const message = `${name} authorization request failed: ${answer.message}`;
    return failure("authorization_error", message);
  }
  const decision = decide(answer.value, authorization);
  return { decision, reason: answer.reason, ...record };
}

/** The request to the provider, which always has the task's source. */
function requestOf(
  plan: FoundTask["plan"],
  { principal, session }: ResolvedIdentity,
  { request }: EffectiveAuthorization,
  actor: JsonRecord | undefined,
): JsonRecord {
  const { payload } = plan.execution;
  const { required_trust_level, allowed_paths } = plan.contract;
  const isProgram = "program" in payload;
  const sections: JsonRecord = {
    identity: { principal, trust_level: session?.trust.effective_level ?? null },
    contract: { required_trust_level, allowed_paths },
    command: {
      program: isProgram ? payload.program : null,
      args: isProgram ? payload.args : null,
    },
    resource: null,
    trust: {
      declared_level: session?.trust.declared_level ?? null,
      effective_level: session?.trust.effective_level ?? null,
    },
    actor: actor ?? null,
    step_up: null,
  };
  const wanted = request?.include ?? USUAL_SECTIONS;
  const chosen = Object.entries(sections).filter(([name]) => wanted.includes(name));
  return { source: plan.source, ...Object.fromEntries(chosen) };
}

/** Without any mapping, the three decisions stand for themselves. */
function decide(value: string, { decision }: EffectiveAuthorization): DecisionKind {
  const maps: readonly (readonly [DecisionKind, readonly string[]])[] = [
    ["permit", decision?.allow_values ?? []],
    ["deny", decision?.deny_values ?? []],
    ["require-escalation", decision?.escalate_values ?? []],
  ];
  const isMapped = maps.some(([, values]) => values.length > 0);
  const found = maps.find(([word, values]) => (isMapped ? values.includes(value) : word === value));
  return found?.[0] ?? "deny";
}

/** The verdict on a trust level. */
type TrustVerdict =
  | { readonly kind: "enough" }
  | { readonly kind: "warning"; readonly message: string }
  | { readonly kind: "insufficient"; readonly message: string };

/** Judges a trust level by the contract; without enforcement, any level is enough. */
export function judgeTrust(contract: MergedContract, level: TrustLevel): TrustVerdict {
  const required = contract.required_trust_level;
  const enforcement = contract.trust_enforcement ?? "none";
  if (required === null || enforcement === "none" || compareTrust(level, required) >= 0) {
    return { kind: "enough" };
  }
  const message = `Trust level "${level}" is below required "${required}"`;
  return enforcement === "strict"
    ? { kind: "insufficient", message }
    : { kind: "warning", message: `${message} (advisory)` };
}

interface AuthorizationProvider {
  readonly capabilities: JsonRecord;
  /** The supported keys of `provider_config`. */
  readonly settings: readonly string[];
  /** Reports missing or invalid settings without contacting the provider. */
  check(profile: JsonRecord): readonly ProfileFault[];
  /** The location of the policy, for the audit record. */
  policyRef(settings: JsonRecord): string | null;
  ask(
    question: PolicyQuestion,
    settings: JsonRecord,
    world: Pick<World, "askJson" | "directory">,
  ): Promise<ProviderAnswer>;
}

/** Providers by name, in listing order. */
export const AUTHORIZATION_PROVIDERS: ReadonlyMap<string, AuthorizationProvider> = new Map(
  Object.entries<AuthorizationProvider>({
    none: {
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
    },
    opa: {
      capabilities: {
        decision_kinds: ["permit", "deny", "require-escalation"],
        escalation: true,
        batch: false,
        dry_run: true,
      },
      settings: ["endpoint"],
      check: ({ provider_config: settings }) =>
        (textIn(recordIn(settings)["endpoint"]) ?? "").trim() === ""
          ? [["provider_config.endpoint", "provider_config.endpoint must be a non-empty string"]]
          : [],
      policyRef: ({ endpoint }) => withoutSecrets(String(endpoint ?? "")),
      ask: async ({ request: input }, settings, world) => {
        const endpoint = String(settings["endpoint"] ?? "");
        if (!/^https?:/.test(endpoint) || parseUrl(endpoint) === undefined) {
          return { kind: "fault", message: "its endpoint is no http or https URL" };
        }
        const answer = await world.askJson(endpoint, { input });
        return answer.kind === "fault" ? answer : readResult(answer.value);
      },
    },
    cedar: {
      capabilities: {
        decision_kinds: ["permit", "deny"],
        escalation: false,
        batch: false,
        dry_run: true,
      },
      settings: CEDAR_SETTINGS,
      check: ({ provider_config: settings }) => checkCedarSettings(recordIn(settings)),
      policyRef: ({ policies_file: file }) => textIn(file) ?? null,
      ask: (question, settings, { directory }) => askCedar(question, settings, directory),
    },
  }),
);

/** Removes the userinfo and query of a URL, which may be secrets. */
function withoutSecrets(endpoint: string): string {
  const url = parseUrl(endpoint);
  return url === undefined ? endpoint : `${url.protocol}//${url.host}${url.pathname}`;
}

/** Reads `{"result": true}`, `{"result": {"allow": true, "reason": "…"}}`, or a word. */
function readResult(body: unknown): ProviderAnswer {
  const result = recordIn(body)["result"];
  if (typeof result === "string") return { kind: "answer", value: result, reason: null };
  const { allow, reason } = isRecord(result) ? result : { allow: result, reason: null };
  if (typeof allow !== "boolean") {
    return { kind: "answer", value: "deny", reason: "unexpected OPA result type" };
  }
  return { kind: "answer", value: allow ? "permit" : "deny", reason: textIn(reason) ?? null };
}
