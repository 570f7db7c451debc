/** `[policies]` after loading; `policies-section.ts` says what each key means. */
import type { TokenPolicy } from "../../identity/bearer-verifier.ts";

/** `[policies]` */
export interface PoliciesConfig {
  readonly wildcardsAccepted: boolean;
  readonly anonymousDiscovery: boolean;
  readonly scopeRequiredForInvocation: boolean;
  readonly synthesisEnabled: boolean;
  readonly maxSynthesisDepth: number;
  readonly outputValidation: "open" | "strict";
  readonly identity: IdentityConfig;
  readonly methods: MethodPolicyConfig;
  /** Reserved DISCOVER name (`methods`) -> dotted handler path. */
  readonly builtins: Readonly<Record<string, string>>;
  readonly rcns: RcnsConfig;
  /** The first that matches a call says whether it needs an approval. */
  readonly approvals: readonly ApprovalRule[];
  readonly oauth?: OauthConfig;
}

/** One of `[[policies.approvals]]`: it matches a call by all members that stand. */
export interface ApprovalRule {
  readonly impact?: "informational" | "reversible" | "irreversible";
  readonly method?: string;
  /** A path, or a template. */
  readonly path?: string;
  /** Covers one of the scopes that the endpoint requires. */
  readonly scope?: string;
  /** The caller's name or Agent-ID. */
  readonly agent?: string;
  readonly approval: "operator" | "none";
  readonly ttlSeconds: number;
}

/** `[policies.identity]` */
export interface IdentityConfig {
  readonly unknownAgents: "reject" | "accept";
  readonly unknownTrustTier: 1 | 2 | 3;
  readonly assurance: "header" | "certificate";
  readonly allowUnverifiedIdentity: boolean;
  readonly lifecycleAuth: "genesis_issuer" | "open";
  readonly trustedIssuers: readonly string[];
  readonly inspectAcl: "public" | "agent_only" | "operator_only";
  readonly operatorCertificates: readonly string[];
}

/** One of `[[policies.methods.redirects]]`. */
export interface Redirect {
  readonly fromMethod: string;
  readonly fromPath?: string;
  readonly toMethod: string;
  readonly toPath?: string;
}

/** As written, not yet checked against the catalog; `method-policy.ts` does that. */
export interface MethodPolicyConfig {
  readonly allow: "*" | readonly string[];
  readonly disallow: readonly string[];
  readonly legacy: "NONE" | "*" | readonly string[];
  readonly custom: readonly string[];
  /** Undefined when the operator wrote none: the catalog's seed applies. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly redirects: readonly Redirect[];
}

/** `[policies.rcns]` */
export interface RcnsConfig {
  readonly enabled: boolean;
  readonly mode: "confirm-first" | "optimistic";
  readonly minTrustTier: number;
  readonly rateLimitPerMinute: number;
  readonly contractTtlSeconds: number;
  readonly onPolicyChange: "grandfather" | "invalidate";
}

/** `[policies.oauth]` */
export interface OauthConfig extends TokenPolicy {
  readonly jwksUri?: string;
  readonly jwksFile?: string;
  readonly requiredOnMethods: readonly string[];
}
