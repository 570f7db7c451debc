/** A person at the console: who it is, and what it may do there by the claims of a provider. */
import { isRecord, memberOf } from "../../base/json-value.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { OidcConfig } from "./config.ts";

/** A viewer sees, an operator decides. */
export const ROLES = ["viewer", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** Somebody who signed in, or may. */
export interface Person {
  /** `link:NAME`, or the provider's issuer and subject. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly via: Exclude<Operator["via"], "certificate" | "passkey">;
}

/** The person as records name it. */
export function operatorOfPerson({ id, name, via }: Person): Operator {
  return { id, name, via };
}

/**
 * From the claims of a provider to somebody at the console: the name, and the role by the lists of
 * `[console.oidc]`. A role is remembered with the entry of the list that gave it, so that a session
 * is over once a reload has taken that entry away.
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
/** Characters that no line of text has; those that are only invisible, the pages show by their numbers. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]|\p{Surrogate}/gu;

/** Tells whether a person's name is one line of whole characters. */
export function isOneLine(name: string): boolean {
  return name.search(CONTROLS) === -1;
}

const NAME_CLAIMS = ["name", "preferred_username", "email"];

const EMAIL = "email";

/** Tells whether the provider says that the address may be anybody's; some write it as a text.   OpenID Connect Core §5.1 */
function isUnverified({ email_verified: verified }: Claims): boolean {
  return verified === false || verified === "false";
}

/** Why the lists give no role, for the log. */
export function roleFault(claims: Claims, { roleClaim }: Pick<Lists, "roleClaim">): string {
  return roleClaim === EMAIL && isUnverified(claims)
    ? "the provider has not verified the email"
    : `${roleClaim} has no value of the lists`;
}

/** The higher of the roles that the lists give, with the entry that gives it. */
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

/** Tells whether the lists still give a role for the same reason. */
export function isGranted(
  { role }: Pick<Person, "role">,
  { issuer, claim, value }: Grant,
  oidc: Lists | undefined,
): boolean {
  if (oidc === undefined || oidc.issuer !== issuer || oidc.roleClaim !== claim) return false;
  return (role === "operator" ? oidc.operators : oidc.viewers).includes(value);
}

/** The person whom the claims are about. */
export function personOf(claims: Claims, role: Role): Person {
  const { iss, sub } = claims;
  // Half a character is left where the cut goes through one.
  const cut = (nameIn(claims) ?? String(sub)).slice(0, MAX_NAME);
  const name = cut.replaceAll(CONTROLS, "\ufffd");
  return { id: `${String(iss)}#${String(sub)}`, name, role, via: "oidc" };
}

/** Tells whether the claims say how people call the person. */
export function isNamed(claims: Claims): boolean {
  return nameIn(claims) !== undefined;
}

function nameIn(claims: Claims): string | undefined {
  const names = NAME_CLAIMS.map((name) => claims[name]);
  return names.find((one): one is string => typeof one === "string" && one.trim() !== "")?.trim();
}

/** A claim by its name, else by a path whose dots lead into objects. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split(".").reduce<unknown>((value, part) => {
    return isRecord(value) ? memberOf(value, part) : undefined;
  }, claims);
}

function textsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}
