/** The kinds of OIDC sign-in failures, and the message that the person sees for each. */
import { codeOf } from "../../base/thrown.ts";

type OidcFailureKind =
  | "state"
  | "declined"
  | "no-role"
  | "unreachable"
  | "late"
  | "unacceptable"
  | "busy";

const STATUS: Readonly<Record<OidcFailureKind, number>> = {
  ...{ state: 403, declined: 403, "no-role": 403 },
  ...{ unreachable: 502, late: 504, unacceptable: 502, busy: 503 },
};

const WORDS: Readonly<Record<OidcFailureKind, string>> = {
  state:
    "This sign-in was begun in another browser, was used already, or took longer than ten minutes.",
  declined: "The provider did not sign you in.",
  "no-role": "You are in no list of people who may use this console. Its operators can add you.",
  unreachable: "The provider cannot be reached. Try again, or use a link of agtpd login.",
  late: "The provider did not answer in time. Try again, or use a link of agtpd login.",
  unacceptable: "What the provider answered cannot be accepted. The daemon's log says why.",
  busy: "Too many people are signing in at this moment. Try again.",
};

/** Thrown if a sign-in fails; `reason` is for the log alone. */
export class OidcFailure extends Error {
  readonly kind: OidcFailureKind;
  readonly reason: string;
  /** The person that the provider named, if it did. */
  readonly personId: string | undefined;

  constructor(kind: OidcFailureKind, reason: string, personId?: string) {
    super(WORDS[kind]);
    this.kind = kind;
    this.reason = reason;
    this.personId = personId;
  }

  get status(): number {
    return STATUS[this.kind];
  }
}

const LATE: ReadonlySet<string> = new Set(["TimeoutError", "AbortError"]);
const MAX_DEPTH = 4;

/** Converts any error of a provider request to an OidcFailure; the provider's text stays out of it. */
export function asOidcFailure(thrown: unknown): OidcFailure {
  if (thrown instanceof OidcFailure) return thrown;
  const causes = causesOf(thrown);
  const own = causes.find((one) => one instanceof OidcFailure);
  if (own !== undefined) return own;
  const code = causes.map(codeOf).find((one) => one !== "" && one !== "undefined") ?? "";
  if (causes.some(({ name }) => LATE.has(name)) || code.endsWith("_TIMEOUT")) {
    return new OidcFailure("late", "it did not answer in time");
  }
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") return new OidcFailure("declined", code);
  // The library's errors may quote the response, so only their codes and fixed texts are used.
  if (code.startsWith("OAUTH_"))
    return new OidcFailure("unacceptable", `${code}: ${words(causes)}`);
  // Web Crypto reports an unreadable key as a DOMException, which has a code but is no connection fault.
  const unread = causes.find((one) => one instanceof DOMException);
  if (unread !== undefined) return new OidcFailure("unacceptable", `a key: ${unread.name}`);
  if (code !== "") return new OidcFailure("unreachable", code);
  return new OidcFailure("unacceptable", causes[0]?.name ?? "nothing that has a name");
}

/** Returns the library's messages, fixed but for the name of a member, and OAuth's error code. */
function words(causes: readonly Error[]): string {
  const own = causes.filter((one) => codeOf(one).startsWith("OAUTH_"));
  const said = causes.map((one) => ("error" in one ? one.error : undefined)).find(isOauthWord);
  const told = own.map(({ message }) => message.slice(0, 120));
  return [...told, ...(said === undefined ? [] : [said])].join(": ");
}

/** True for an error code such as `invalid_client`.   RFC 6749 §5.2 */
function isOauthWord(value: unknown): value is string {
  return typeof value === "string" && /^[a-z_]{1,40}$/.test(value);
}

function causesOf(thrown: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let one = thrown; one instanceof Error && causes.length < MAX_DEPTH; one = one.cause) {
    causes.push(one);
  }
  return causes;
}
