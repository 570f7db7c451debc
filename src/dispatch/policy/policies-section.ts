/** `[policies]`: the requests and callers that the server accepts.   AGTP-API §8, §9 and §10.1.7 */
import { HTTP_VERBS } from "../../catalog/catalog.ts";
import { RESERVED_NAMES } from "../../catalog/path-grammar.ts";
import { IMPACTS } from "../../endpoint/endpoint.ts";
import type { TokenPolicy } from "../../identity/bearer-verifier.ts";
import {
  agtpPath,
  choice,
  count,
  dottedPath,
  fingerprint,
  flag,
  list,
  map,
  methodName,
  optional,
  path,
  publicKey,
  type Schema,
  safeUrl,
  scopeToken,
  seconds,
  table,
  text,
  word,
  wordOrList,
} from "../../schema/section-field.ts";

/** `[policies]`, as it is loaded. */
export interface PoliciesConfig {
  readonly wildcardsAccepted: boolean;
  readonly anonymousDiscovery: boolean;
  readonly scopeRequiredForInvocation: boolean;
  readonly synthesisEnabled: boolean;
  readonly maxSynthesisDepth: number;
  readonly outputValidation: "open" | "strict";
  readonly identity: IdentityConfig;
  readonly methods: MethodPolicyConfig;
  /** The dotted handler path of each reserved DISCOVER name (`methods`). */
  readonly builtins: Readonly<Record<string, string>>;
  readonly rcns: RcnsConfig;
  /** The approval rules; the first that matches a call decides. */
  readonly approvals: readonly ApprovalRule[];
  readonly oauth?: OauthConfig;
}

/** A rule of `[[policies.approvals]]`, which matches if each of its members does. */
export interface ApprovalRule {
  readonly impact?: "informational" | "reversible" | "irreversible";
  readonly method?: string;
  /** A path, or a template. */
  readonly path?: string;
  /** A scope that covers one of those that the endpoint requires. */
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

/** The methods as written; `method-policy.ts` checks them against the catalog. */
export interface MethodPolicyConfig {
  readonly allow: "*" | readonly string[];
  readonly disallow: readonly string[];
  readonly legacy: "NONE" | "*" | readonly string[];
  readonly custom: readonly string[];
  /** Undefined if the operator wrote none, so that the catalog's seed applies. */
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

const identity = table("How callers prove who they are, and who decides over agents", {
  unknown_agents: choice(
    "reject",
    ["reject", "accept"],
    "An Agent-ID without a document here: reject it (401), or accept what it claims",
  ),
  unknown_trust_tier: choice(3, [1, 2, 3], "Trust tier of accepted unknown agents"),
  assurance: choice(
    "header",
    ["header", "certificate"],
    "What proves an Agent-ID: the header alone, or the certificate of the connection",
  ),
  allow_unverified_identity: flag(
    false,
    'Needed for assurance = "header" on a host that is not loopback',
  ),
  lifecycle_auth: choice(
    "genesis_issuer",
    ["genesis_issuer", "open"],
    "Who may change an agent's lifecycle: the issuer of its Genesis, or anybody (every listener on loopback)",
  ),
  trusted_issuers: list(
    publicKey(""),
    "Ed25519 public keys, base64url or PEM; the server's own signing key is always one",
  ),
  inspect_acl: choice(
    "agent_only",
    ["public", "agent_only", "operator_only"],
    "Who may INSPECT an agent's records: anybody, the agent itself, or operators",
  ),
  operator_certificates: list(fingerprint(""), "SHA-256 fingerprints of operators' public keys"),
});

const methods = table("The method policy, published in the manifest", {
  allow: wordOrList(
    ["*"],
    methodName(""),
    'Methods served: "*" or names; floor methods always are',
  ),
  disallow: list(methodName(""), "Methods refused with 405"),
  legacy: wordOrList(
    ["NONE", "*"],
    { enum: HTTP_VERBS },
    'HTTP verbs accepted as methods: "NONE", "*" or a list',
  ),
  custom: list(methodName(""), "Methods of this server alone, beside the catalog's"),
  aliases: optional(
    map(
      word("", "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "a method token", ""),
      methodName(""),
      "Names accepted for other methods; without it, the catalog's five HTTP verbs; {} disables",
    ),
  ),
  redirects: list(
    table(
      "Processes one method, on a path or on all, as another",
      {
        from_method: optional(methodName("The method that callers use")),
        from_path: optional(agtpPath("The path it is used on; without it, any")),
        to_method: optional(methodName("The method it is processed as")),
        to_path: optional(agtpPath("The path it is processed on; without it, the same")),
      },
      ["from_method", "to_method"],
    ),
    "Methods and paths processed as others",
  ),
});

const rcns = table("Runtime contract negotiation", {
  enabled: flag(false, "The first lock; callers must opt in as well"),
  mode: choice(
    "confirm-first",
    ["confirm-first", "optimistic"],
    "Offer the contract first (461), or run the request at once",
  ),
  min_trust_tier: choice(
    1,
    [1, 2, 3],
    "A caller's tier must be this or a stronger one; 1 is the strongest",
  ),
  rate_limit_per_minute: count(10, "Negotiations an agent may ask for in a minute", 1_000_000),
  contract_ttl_seconds: seconds(3600, "How long a contract lives without a session"),
  on_policy_change: choice(
    "grandfather",
    ["grandfather", "invalidate"],
    "What a sweep does with contracts whose recipe changed: keep or evict them",
  ),
});

/** The retention time of a closed escalation, which bounds that of an approval. */
const LONGEST_APPROVAL_SECONDS = 2_592_000;

const approvals = list(
  table(
    "Calls that need an approval, or none; all members that stand must match, the first rule wins",
    {
      impact: optional(choice("irreversible", IMPACTS, "The impact that the endpoint declares")),
      method: optional(methodName("The method that is answered")),
      path: optional(agtpPath("The path that is called, or a template of it")),
      scope: optional(scopeToken("Covers a scope that the endpoint requires")),
      agent: optional(text("", "The caller, by its name or Agent-ID")),
      approval: choice("operator", ["operator", "none"], "Whose approval the call needs, or none"),
      ttl_seconds: count(
        3600,
        "How long a call waits for a decision, and an approval for its call",
        LONGEST_APPROVAL_SECONDS,
      ),
    },
  ),
  "Calls that wait for an operator's approval",
);

const oauth = optional(
  table(
    "Validates Authorization: Bearer",
    {
      issuer: optional(text("", "The iss that tokens must have")),
      audience: optional(text("", "The aud that tokens must have")),
      jwks_uri: optional(safeUrl("Where the issuer publishes its keys; or jwks_file")),
      jwks_file: optional(path("", "The issuer's keys as a file; or jwks_uri")),
      principal_claim: text("sub", "The claim that names the principal"),
      agent_claim: optional(
        text(
          "",
          "The claim that holds the Agent-ID of an MCP client, and over AGTP that of who asks",
        ),
      ),
      required_on_methods: list(methodName(""), "Methods that need a token"),
    },
    ["issuer"],
  ),
);

export const policiesSection: Schema = table("What the server accepts, from whom", {
  wildcards_accepted: flag(
    false,
    "Said in the manifest; methods outside the catalog are refused with 459 either way",
  ),
  anonymous_discovery: flag(true, "Whether DISCOVER is answered without an Agent-ID"),
  scope_required_for_invocation: flag(
    true,
    "Whether an endpoint needs a scope that is claimed or held",
  ),
  synthesis_enabled: flag(true, "Whether PROPOSE and negotiation may make contracts"),
  max_synthesis_depth: count(10, "Most steps that one contract is composed of", 100),
  output_validation: choice(
    "open",
    ["open", "strict"],
    "Whether outputs may have members that the output schema does not name",
  ),
  identity,
  methods,
  builtins: map(
    { enum: RESERVED_NAMES },
    dottedPath(""),
    "Handlers that override reserved DISCOVER built-ins, by name",
  ),
  rcns,
  approvals,
  oauth,
});
