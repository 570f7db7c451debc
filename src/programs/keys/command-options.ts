/** The options of each sub-command of `agtp-keys`, as written. */

interface Reported {
  readonly json?: boolean;
}

interface Written extends Reported {
  readonly force?: boolean;
}

/** `agtp-keys signing` */
export interface SigningLine extends Written {
  readonly kind: "signing";
  readonly out: string;
}

/** `agtp-keys genesis` */
export interface GenesisLine extends Written {
  readonly kind: "genesis";
  readonly name: string;
  readonly principal: string;
  readonly principalId?: string;
  readonly ownerId: string;
  readonly issuerKey: string;
  readonly issuer?: string;
  readonly description?: string;
  readonly scope?: string;
  readonly archetype?: string;
  readonly governanceZone: string;
  readonly trustTier: string;
  readonly verificationPath?: string;
  /** True: under its usual name. */
  readonly agentKey?: string | true;
  readonly outDir: string;
}

/** `agtp-keys agent-ca` */
export interface AgentCaLine extends Written {
  readonly kind: "agent-ca";
  readonly name: string;
  readonly days: string;
  readonly outDir: string;
}

/** `agtp-keys agent-cert` */
export interface AgentCertLine extends Written {
  readonly kind: "agent-cert";
  readonly caCert: string;
  readonly caKey: string;
  readonly genesis?: string;
  readonly agentId?: string;
  readonly name?: string;
  readonly organization?: string;
  readonly ownerId?: string;
  readonly scope?: string;
  readonly governanceZone?: string;
  readonly trustTier?: string;
  readonly archetype?: string;
  readonly days: string;
  readonly publicKey?: string;
  readonly keyKind: string;
  readonly outDir: string;
}

/** `agtp-keys verify` */
export interface VerifyLine extends Reported {
  readonly kind: "verify";
  readonly files: readonly string[];
  readonly chain?: string;
  readonly agent?: string;
  /** A record that is known to be in the chain, or the server that knows one. */
  readonly head?: string;
  readonly key: readonly string[];
  readonly issuerKey: readonly string[];
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly agentId?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

/** `agtp-keys repair` */
export interface RepairLine extends Reported {
  readonly kind: "repair";
  readonly config: string;
  readonly reason?: string;
}

/** A sub-command with its options as written. */
export type KeysCommandLine =
  | SigningLine
  | GenesisLine
  | AgentCaLine
  | AgentCertLine
  | VerifyLine
  | RepairLine;
