/**
 * Trust posture: the tier, verification path and warning that an agent is served with. Field by
 * field the first source that names one wins, and what none names has a cautious default.
 * AGTP-TRUST "Trust Posture Loading"
 */
import { isOwnerId } from "./identifiers.ts";

/** What one source (an identity document, a Genesis) says about an agent; members may be absent. */
export type PostureSource = Readonly<Record<string, unknown>>;

/** What an agent is served with. */
export interface TrustPosture {
  readonly trustTier: 1 | 2 | 3;
  readonly verificationPath: string;
  readonly trustWarning: string | undefined;
  readonly ownerId: string | undefined;
}

/** A member that cannot be used as it stands, and what it should have been. */
export interface PostureFault {
  readonly key: string;
  readonly message: string;
}

const DEFAULT_TIER = 2;
const DEFAULT_PATH = "org-asserted";
const VERIFICATION_PATHS: ReadonlySet<string> = new Set([
  "dns-anchored",
  "log-anchored",
  "hybrid",
  "org-asserted",
]);

/** Sources in order of precedence: the identity document itself comes first. */
export function resolveTrustPosture(sources: readonly PostureSource[]): TrustPosture {
  const declaredTier = firstOf(sources, "trust_tier", isTrustTier) ?? DEFAULT_TIER;
  const verificationPath = firstOf(sources, "verification_path", isText) ?? DEFAULT_PATH;
  const declaredWarning = firstOf(sources, "trust_warning", isText);
  const ownerId = firstOf(sources, "owner_id", isOwner);
  if (!VERIFICATION_PATHS.has(verificationPath)) {
    return {
      // A path nobody can check takes the first tier away; it does not lift the third.
      trustTier: declaredTier === 3 ? 3 : DEFAULT_TIER,
      verificationPath: DEFAULT_PATH,
      trustWarning: "verification-path-unsupported",
      ownerId,
    };
  }
  const automatic = declaredTier === 2 ? "verification-incomplete" : undefined;
  return {
    trustTier: declaredTier,
    verificationPath,
    trustWarning: declaredWarning ?? automatic,
    ownerId,
  };
}

/** The members of one source that are there but cannot be what they are named. */
export function checkPostureSource(source: PostureSource): readonly PostureFault[] {
  const rules = [
    { key: "trust_tier", accepts: isTrustTier, expected: "must be 1, 2 or 3" },
    { key: "verification_path", accepts: isText, expected: "must be a text" },
    { key: "trust_warning", accepts: isText, expected: "must be a text" },
    {
      key: "owner_id",
      accepts: isOwner,
      expected: 'must be 1 to 256 letters, digits, "-", "_", ":" or "."',
    },
  ];
  return rules
    .filter(({ key, accepts }) => (source[key] ?? undefined) !== undefined && !accepts(source[key]))
    .map(({ key, expected }) => ({ key, message: expected }));
}

function firstOf<T>(
  sources: readonly PostureSource[],
  key: string,
  accepts: (value: unknown) => value is T,
): T | undefined {
  for (const source of sources) {
    const value = source[key];
    if (accepts(value)) return value;
  }
  return undefined;
}

function isTrustTier(value: unknown): value is 1 | 2 | 3 {
  return value === 1 || value === 2 || value === 3;
}

/** Visible ASCII, because it is sent in the Trust-Warning and Verification-Path headers. */
function isText(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value);
}

function isOwner(value: unknown): value is string {
  return typeof value === "string" && isOwnerId(value);
}
