/**
 * Trust posture: the tier, verification path and warning that an agent is served with, its owner
 * and zone. For each field the identity document takes precedence over the Genesis, then a cautious
 * default; the deciding source is stored too.   AGTP-TRUST "Trust Posture Loading"
 */
import { isOwnerId } from "./identifiers.ts";

/** The statements of one source (an identity document, a Genesis) about an agent; members may be absent. */
export type PostureSource = Readonly<Record<string, unknown>>;

/** The sources of one agent, in order of precedence. */
interface PostureSources {
  readonly document: PostureSource;
  readonly genesis: PostureSource | undefined;
}

/** The trust posture of a served agent. */
export interface TrustPosture {
  readonly trustTier: 1 | 2 | 3;
  readonly verificationPath: string;
  readonly trustWarning: string | undefined;
  readonly ownerId: string | undefined;
  readonly governanceZone: string | undefined;
  readonly postureRules: PostureRules;
}

/** The source of each field's value. */
type PostureRules = Readonly<Record<PostureField, PostureRule>>;

type PostureField =
  | "trustTier"
  | "verificationPath"
  | "trustWarning"
  | "ownerId"
  | "governanceZone";

/** "automatic": derived by the server from another field. */
type PostureRule = "document" | "genesis" | "default" | "automatic";

/** The value of a field, and its source. */
interface Decided<T> {
  readonly value: T;
  readonly rule: PostureRule;
}

const DEFAULT_TIER = { value: 2, rule: "default" } as const;
export const DEFAULT_VERIFICATION_PATH = "org-asserted";
const DEFAULT_PATH = { value: DEFAULT_VERIFICATION_PATH, rule: "default" } as const;
const NOTHING = { value: undefined, rule: "default" } as const;
const VERIFICATION_PATHS: ReadonlySet<string> = new Set([
  "dns-anchored",
  "log-anchored",
  "hybrid",
  "org-asserted",
]);

/** Resolves every field by the precedence rule. */
export function resolveTrustPosture(sources: PostureSources): TrustPosture {
  const path = firstOf(sources, "verification_path", isText) ?? DEFAULT_PATH;
  const standing = VERIFICATION_PATHS.has(path.value)
    ? resolveStanding(sources, path)
    : downgradeStanding(sources);
  const ownerId = firstOf(sources, "owner_id", isOwner) ?? NOTHING;
  const governanceZone = firstOf(sources, "governance_zone", isZone) ?? NOTHING;
  return {
    trustTier: standing.trustTier.value,
    verificationPath: standing.verificationPath.value,
    trustWarning: standing.trustWarning.value,
    ownerId: ownerId.value,
    governanceZone: governanceZone.value,
    postureRules: {
      trustTier: standing.trustTier.rule,
      verificationPath: standing.verificationPath.rule,
      trustWarning: standing.trustWarning.rule,
      ownerId: ownerId.rule,
      governanceZone: governanceZone.rule,
    },
  };
}

/**
 * The part of an untrusted source that still counts: a third tier, because ignoring it would lift
 * the agent to the default.
 */
export function distrustPosture(source: PostureSource): PostureSource {
  return source["trust_tier"] === 3 ? { trust_tier: 3 } : {};
}

/** The invalid members of one source. */
export function checkPostureSource(
  source: PostureSource,
): readonly { readonly key: string; readonly message: string }[] {
  return RULES.filter(
    ({ key, accepts }) => (source[key] ?? undefined) !== undefined && !accepts(source[key]),
  ).map(({ key, expected }) => ({ key, message: expected }));
}

interface Standing {
  readonly trustTier: Decided<1 | 2 | 3>;
  readonly verificationPath: Decided<string>;
  readonly trustWarning: Decided<string | undefined>;
}

function resolveStanding(sources: PostureSources, path: Decided<string>): Standing {
  const trustTier = firstOf(sources, "trust_tier", isTrustTier) ?? DEFAULT_TIER;
  const automatic: Decided<string | undefined> =
    trustTier.value === 2 ? { value: "verification-incomplete", rule: "automatic" } : NOTHING;
  const trustWarning = firstOf(sources, "trust_warning", isText) ?? automatic;
  return { trustTier, verificationPath: path, trustWarning };
}

/** An unverifiable path takes away the first tier, but does not lift the third. */
function downgradeStanding(sources: PostureSources): Standing {
  const declared = firstOf(sources, "trust_tier", isTrustTier) ?? DEFAULT_TIER;
  return {
    trustTier: declared.value === 1 ? { value: 2, rule: "automatic" } : declared,
    verificationPath: { value: DEFAULT_PATH.value, rule: "automatic" },
    trustWarning: { value: "verification-path-unsupported", rule: "automatic" },
  };
}

function firstOf<T>(
  sources: PostureSources,
  key: string,
  accepts: (value: unknown) => value is T,
): Decided<T> | undefined {
  const declared = sources.document[key];
  if (accepts(declared)) return { value: declared, rule: "document" };
  const inherited = sources.genesis?.[key];
  return accepts(inherited) ? { value: inherited, rule: "genesis" } : undefined;
}

function isTrustTier(value: unknown): value is 1 | 2 | 3 {
  return value === 1 || value === 2 || value === 3;
}

/**
 * The score in a document; undefined if there is none, or if it is outside 0 to 1 or lacks the time
 * of its computation.   AGTP-TRUST "Trust Score"
 */
export function trustScoreOf(document: PostureSource): number | undefined {
  const { trust_score: score, trust_score_computed_at: computedAt } = document;
  if (typeof score !== "number" || typeof computedAt !== "string") return undefined;
  return score >= 0 && score <= 1 ? score : undefined;
}

/** Visible ASCII, because it is sent in the Trust-Warning and Verification-Path headers. */
function isText(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value);
}

function isOwner(value: unknown): value is string {
  return typeof value === "string" && isOwnerId(value);
}

function isZone(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && /^\P{Cc}{1,256}$/u.test(value);
}

const RULES = [
  { key: "trust_tier", accepts: isTrustTier, expected: "must be 1, 2 or 3" },
  { key: "verification_path", accepts: isText, expected: "must be a text" },
  { key: "trust_warning", accepts: isText, expected: "must be a text" },
  {
    key: "owner_id",
    accepts: isOwner,
    expected: 'must be 1 to 256 letters, digits, "-", "_", ":" or "."',
  },
  {
    key: "governance_zone",
    accepts: isZone,
    expected: "must be a text of 1 to 256 characters",
  },
] as const;
