/**
 * Takes secrets out of what a program has put out: those that it was given, those of the daemon's own
 * environment, and what looks like a credential whoever it came from.
 */
import type { Environment } from "../../../base/environment.ts";
import { REDACTED } from "../identity/session.ts";

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_KEY|ACCESS_KEY/i;
/** Shorter ones would take ordinary words out. */
const MIN_SECRET_LENGTH = 6;

/** No text makes one of them look at much of it more than once. */
const PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,16384}-----END [A-Z ]{0,32}PRIVATE KEY-----/g,
  /\bBearer +[A-Za-z0-9._~+/=-]{8,}/gi,
  /\beyJ[A-Za-z0-9_-]{8,512}\.[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{0,2048}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bsk-[A-Za-z0-9_-]{20,}/g,
];

/** Values of variables whose names say that they are secret. */
export function secretsOf(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
}

/** A redactor that knows these secrets, and what they look like in base64. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const values = secrets.map((secret) => secret.trim());
  const known = values
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .flatMap((secret) => [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")]);
  // The longest first: one may be part of another.
  const ordered = [...new Set(known)].sort((one, other) => other.length - one.length);
  return (text) => {
    let redacted = text;
    for (const secret of ordered) redacted = redacted.replaceAll(secret, REDACTED);
    for (const pattern of PATTERNS) redacted = redacted.replace(pattern, REDACTED);
    return redacted;
  };
}
