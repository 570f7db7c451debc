/** A person at the console: identity, and the role that a provider's claims give. */
import { isRecord, memberOf } from "../../base/json-value.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { OidcConfig } from "./config.ts";

/** A viewer only reads, an operator decides. */
export const ROLES = ["viewer", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** A person who has signed in, or may. */
export interface Person {
  /** `link:NAME`, or the provider's issuer and subject. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly via: Exclude<Operator["via"], "certificate" | "passkey">;
}

/** The person in the form that records use. */
export function operatorOfPerson({ id, name, via }: Person): Operator {
  return { id, name, via };
}

/**
 * The entry of a list in `[console.oidc]` that gave a person the role. It is stored with the session, so that the
 * session ends once a reload removes the entry.
 */
export interface Grant {
  readonly issuer: string;
  readonly claim: string;
  readonly value: string;
}

/** Claims of an ID token or of the provider's UserInfo. */
export type Claims = Readonly<Record<string, unknown>>;

type Lists = Pick<OidcConfig, "issuer" | "roleClaim" | "viewers" | "operators">;

const MAX_NAME = 128;
/** Characters that a line of text cannot contain; merely invisible ones are escaped by the pages. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]|\p{Surrogate}/gu;

/** True if a name is one line without lone surrogates. */
export function isOneLine(name: string): boolean {
  return name.search(CONTROLS) === -1;
}

const NAME_CLAIMS = ["name", "preferred_username", "email"];

const EMAIL = "email";

/**
 * True if the provider says that the email is unverified; some send the flag as a string.   OpenID Connect Core §5.1
 */
function isUnverified({ email_verified: verified }: Claims): boolean {
  return verified === false || verified === "false";
}

/** Explains for the log why the lists give no role. */
export function roleFault(claims: Claims, { roleClaim }: Pick<Lists, "roleClaim">): string {
  return roleClaim === EMAIL && isUnverified(claims)
    ? "the provider has not verified the email"
    : `${roleClaim} has no value of the lists`;
}

/** Returns the highest role that the lists give, with the entry that gives it. */
export function roleOf(
  claims: Claims,
  { issuer, roleClaim, viewers, operators }: Lists,
): { readonly role: Role; readonly grant: Grant } | undefined {
  if (roleClaim === EMAIL && isUnverified(claims)) return undefined;
  const values = textsOf(claimOf(claims, roleClaim));
  const lists = [
    ["operator", operators],
    ["viewer", viewers],
  ] as const;
  for (const [role, list] of lists) {
    const value = list.find((entry) => values.includes(entry));
    if (value !== undefined) return { role, grant: { issuer, claim: roleClaim, value } };
  }
  return undefined;
}

/** True if the lists still give the role for the same reason. */
export function isGranted(
  { role }: Pick<Person, "role">,
  { issuer, claim, value }: Grant,
  oidc: Lists | undefined,
): boolean {
  if (oidc === undefined || oidc.issuer !== issuer || oidc.roleClaim !== claim) return false;
  return (role === "operator" ? oidc.operators : oidc.viewers).includes(value);
}

/** Builds the person that the claims describe. */
export function personOf(claims: Claims, role: Role): Person {
  const { iss, sub } = claims;
  // The cut may split a surrogate pair.
  const cut = (nameIn(claims) ?? String(sub)).slice(0, MAX_NAME);
  const name = cut.replaceAll(CONTROLS, "\ufffd");
  return { id: `${String(iss)}#${String(sub)}`, name, role, via: "oidc" };
}

/** True if the claims contain a name for the person. */
export function isNamed(claims: Claims): boolean {
  return nameIn(claims) !== undefined;
}

function nameIn(claims: Claims): string | undefined {
  const names = NAME_CLAIMS.map((name) => claims[name]);
  return names.find((one): one is string => typeof one === "string" && one.trim() !== "")?.trim();
}

/** Returns a claim by its name, or else by a path whose dots lead into objects. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split(".").reduce<unknown>((value, part) => {
    return isRecord(value) ? memberOf(value, part) : undefined;
  }, claims);
}

function textsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
