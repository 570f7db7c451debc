/**
 * From `[policies.oauth]` to a verifier of bearer tokens. The issuer's keys come from a file, which
 * must be good at the start, or from a URL, which may be down: the server starts without them and
 * refuses tokens until they are there. Both are followed through rotations.   AGTP "Authorization"
 */
import { ForwardClock } from "../../base/forward-clock.ts";
import { isError, type Problem } from "../../base/problem.ts";
import type { OauthConfig } from "../../dispatch/policy/policies-config.ts";
import type { CallLog } from "../../handlers/handler.ts";
import { checkKeyFile, type KeySource } from "../../identity/bearer-keys.ts";
import type { TokenVerifier } from "../../identity/bearer-syntax.ts";
import { JwksFileKeys, JwksKeys } from "./keys.ts";

/** The parts that a verifier is opened with. */
export interface VerifierOptions {
  readonly oauth: OauthConfig;
  /** Name of the configuration file, for problems. */
  readonly file: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Milliseconds since the epoch; the system's clock unless given. */
  readonly now?: () => number;
}

/** A verifier, or what is wrong with the configuration. */
export interface OpenedVerifier {
  /** Undefined when there are no keys and never will be. */
  readonly verifier: TokenVerifier | undefined;
  readonly problems: readonly Problem[];
  /** Begins to fetch keys in the background: called when the deployment is served. */
  start(): void;
}

/** Opens the verifier. Connects to nothing before `start`. */
export async function openTokenVerifier(options: VerifierOptions): Promise<OpenedVerifier> {
  const { oauth, file, log } = options;
  const { now } = new ForwardClock(options.now);
  // How long keys are good for is measured: a clock that is set back must not prolong it.
  const measured = options.now ?? (() => performance.now());
  const { jwksUri, jwksFile = "" } = oauth;
  if (jwksUri === undefined) {
    const problems = checkKeyFile(jwksFile, { file, key: "policies.oauth.jwks_file" });
    if (problems.some(isError)) return withoutVerifier(problems);
    const keys = new JwksFileKeys(jwksFile, { now: measured, log });
    const verifier = await createVerifier(oauth, keys, now);
    return { verifier, problems, start: () => undefined };
  }
  if (!URL.canParse(jwksUri)) {
    const message = `must be a URL, got "${jwksUri}"`;
    return withoutVerifier([{ file, key: "policies.oauth.jwks_uri", message }]);
  }
  // The HTTP client takes long to load: only those wait for it who need it.
  const { createJwksSource } = await import("./source.ts");
  const source = createJwksSource({ uri: jwksUri });
  const keys = new JwksKeys(source, { now: measured, log });
  const verifier = await createVerifier(oauth, keys, now);
  return { verifier, problems: [], start: () => keys.start() };
}

function withoutVerifier(problems: readonly Problem[]): OpenedVerifier {
  return { verifier: undefined, problems, start: () => undefined };
}

async function createVerifier(
  oauth: OauthConfig,
  keys: KeySource,
  now: () => number,
): Promise<TokenVerifier> {
  const { createTokenVerifier } = await import("../../identity/bearer-verifier.ts");
  return createTokenVerifier({ oauth, keys, now });
}
