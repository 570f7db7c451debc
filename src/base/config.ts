/**
 * The configuration after loading: every key present with its default, secrets resolved, paths
 * absolute, frozen. `schema.ts` says what each key means; this is only its shape in camelCase.
 */

/** A whole configuration. */
export interface Config {
  /** Directory of agtp-server.toml; every relative path was resolved against it. */
  readonly directory: string;
  /** The configuration file, absolute. */
  readonly file: string;
  readonly server: ServerConfig;
  readonly tls: TlsConfig;
  readonly limits: LimitsConfig;
  readonly catalog: { readonly file: string };
  readonly endpoints: { readonly dir: string };
  readonly recipes: { readonly dir: string };
  readonly handlers: { readonly root: string };
  readonly agents: AgentsConfig;
  readonly policies: PoliciesConfig;
  readonly synthesis: SynthesisConfig;
  readonly signing: { readonly key?: string };
  readonly attribution: { readonly enabled: boolean };
  readonly store: StoreConfig;
  readonly gateway: GatewayConfig;
  readonly mcp: McpConfig;
  readonly metrics: { readonly enabled: boolean; readonly host: string; readonly port: number };
  readonly webhooks: WebhooksConfig;
  /** Agents by name or Agent-ID, and webhooks as `webhook:NAME`, by the group's name. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly delegation: DelegationConfig;
  readonly peers: readonly PeerConfig[];
  readonly apis: readonly ApiEntry[];
  readonly hostedProtocols: readonly HostedProtocolEntry[];
  /** Shapes as in agtp-server.toml, snake_case; validated, not yet converted. */
  readonly openwop: Readonly<Record<string, unknown>>;
  readonly agntcy: readonly Readonly<Record<string, unknown>>[];
  readonly agentcli: Readonly<Record<string, unknown>>;
}

/** `[server]` */
export interface ServerConfig {
  readonly serverId: string;
  readonly operator?: string;
  readonly contact?: string;
  readonly domain?: string;
  readonly host: string;
  readonly port: number;
  readonly documentVersion?: string;
  readonly onInvalid: "skip" | "fail";
}

/** `[tls]` */
export interface TlsConfig {
  /** Absolute paths; both or neither. */
  readonly cert?: string;
  readonly key?: string;
  readonly clientAuth: "none" | "optional" | "required";
  readonly clientCa?: string;
}

/** `[limits]` */
export interface LimitsConfig {
  readonly requestLineBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly bodyBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly handlerTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxPipelined: number;
  readonly drainTimeoutMs: number;
  /** 0: no limit. */
  readonly requestsPerSecond: number;
  /** 0: no limit. */
  readonly workMsPerSecond: number;
  readonly sendBufferBytes: number;
  readonly sendBufferTotalBytes: number;
}

/** `[agents]` */
export interface AgentsConfig {
  readonly dir: string;
  readonly disclosure: "public" | "authenticated" | "private";
  readonly disclosureNotice?: string;
  readonly default?: string;
}

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

/** As written, not yet checked against the catalog; `dispatch/method-policy.ts` does that. */
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
export interface OauthConfig {
  readonly issuer: string;
  readonly audience?: string;
  readonly jwksUri?: string;
  readonly jwksFile?: string;
  readonly principalClaim: string;
  readonly agentClaim?: string;
  readonly requiredOnMethods: readonly string[];
}

/** `[synthesis]` */
export interface SynthesisConfig {
  readonly asyncEvaluation: boolean;
  readonly sessionTtlSeconds: number;
  readonly persistentDefaultSeconds: number;
  readonly persistentMaxSeconds: number;
}

/** `[store]` */
export interface StoreConfig {
  readonly driver: "sqlite" | "memory" | "postgres";
  readonly path: string;
  readonly url?: string;
}

/** `[gateway]` */
export interface GatewayConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  readonly agent?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly allowPlainHttp: boolean;
  readonly baseUrl?: string;
  readonly corsOrigins: readonly string[];
  readonly hosts: readonly string[];
}

/** `[mcp]` */
export interface McpConfig {
  readonly enabled: boolean;
  /** On the listener of the sidecar. */
  readonly path: string;
  readonly tools: "operator" | "all";
  readonly anonymous: boolean;
  readonly servers: readonly McpServerConfig[];
}

/** `[[mcp.servers]]` */
export interface McpServerConfig {
  readonly name: string;
  /** Either it or `command`. */
  readonly url?: string;
  readonly token?: string;
  /** Absolute. */
  readonly ca?: string;
  readonly allowHttp: boolean;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

/** `[webhooks]` */
export interface WebhooksConfig {
  readonly escalations?: string;
  readonly secret?: string;
  /** Absolute. */
  readonly ca?: string;
  /** URL by name. */
  readonly recipients: Readonly<Record<string, string>>;
}

/** `[delegation]` */
export interface DelegationConfig {
  readonly maxDepth: number;
  readonly maxSeconds: number;
}

/** One of `[[peers]]`. */
export interface PeerConfig {
  readonly name: string;
  readonly serverId: string;
  readonly publicKey: string;
  readonly uri?: string;
  readonly agents: readonly string[];
  readonly scopes: readonly string[];
  readonly acceptScopes: readonly string[];
  readonly zone?: string;
  /** Absolute paths. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly timeoutSeconds: number;
  readonly maxConnections: number;
}

/** One of `[[apis]]`, as it is written. */
export interface ApiEntry {
  readonly name: string;
  readonly description?: string;
  readonly base_url?: string;
  readonly http_documentation?: string;
}

/** One of `[[hosted_protocols]]`. */
export interface HostedProtocolEntry {
  readonly protocol: string;
  readonly method: string;
  readonly path: string;
}
