/**
 * Asks the provider that a task's authorization names, and says in one of three words what it
 * answered: what nobody mapped is a denial. And judges if an identity is trusted as far as a contract
 * asks.   agentcli execution identity "Authorization", agentcli spec "Trust enforcement"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import {
  applyAuthorizationProfile,
  type EffectiveAuthorization,
  type MergedContract,
} from "../compile/merge-governance.ts";
import { type Failure, failure } from "../failure.ts";
import type { FoundTask, ResolvedIdentity } from "../identity/resolve-identity.ts";
import { compareTrust, type TrustLevel } from "../manifest/identity-fields.ts";
import type { World } from "../world.ts";
import { AUTHORIZATION_PROVIDERS } from "./authorization-providers.ts";

/** The three words. */
type DecisionKind = "permit" | "deny" | "require-escalation";

/** The decision; keys are the protocol's. */
export interface Decision {
  readonly decision: DecisionKind;
  readonly provider: string;
  readonly reason: string | null;
  readonly policy_ref: string | null;
  readonly escalation: null;
}

/** The caller, beyond what the manifest declares. */
type Actor = JsonRecord;

const USUAL_SECTIONS = ["identity", "contract", "command"];

/** Undefined where the task has no authorization. */
export async function authorize(
  found: Pick<FoundTask, "manifest" | "plan">,
  identity: ResolvedIdentity,
  world: Pick<World, "askJson" | "directory">,
  actor?: Actor,
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
  const policyRef = provider.policyRef(authorization);
  const record = { provider: name, policy_ref: policyRef, escalation: null } as const;
  const request = requestOf(plan, identity, authorization, actor);
  const answer = await provider.ask(request, authorization, world);
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

/** The question to the provider; the source is always said. */
function requestOf(
  plan: FoundTask["plan"],
  { principal, session }: ResolvedIdentity,
  { request }: EffectiveAuthorization,
  actor: Actor | undefined,
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

/** Without any mapping the three words stand for themselves. */
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

/** The verdict, in words where there is something to say. */
type TrustVerdict =
  | { readonly kind: "enough" }
  | { readonly kind: "warning"; readonly message: string }
  | { readonly kind: "insufficient"; readonly message: string };

/** Judges a level by the contract; without enforcement, anything is enough. */
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
