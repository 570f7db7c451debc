/**
 * Keeps an agent's server from handing on the credentials that it was shown: one that repeats them, in
 * an error or in what its agent says, is not believed that they are for anybody else. What is shorter
 * than a credential has any business to be may be a word, and is left alone.
 */

const CONCEALED = "[credential]";
const MIN_LENGTH = 6;
/** `Bearer …`, `Basic …`: the scheme is no secret, what follows is. */
const SCHEME = /^\S+ +/;

/** A text without the credentials. */
export type CredentialShield = (text: string) => string;

/** The shield for the header fields that carry credentials. */
export function shieldCredentials(headers: Readonly<Record<string, string>>): CredentialShield {
  const secrets = Object.values(headers).flatMap((value) => {
    const bare = value.replace(SCHEME, "");
    return [value, bare, ...(/^basic /i.test(value) ? passwordIn(bare) : [])];
  });
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const sought = [...new Set(spellings)].filter((one) => one.length >= MIN_LENGTH);
  // The longest first: what is left of it would tell where the shorter one stood.
  sought.sort((left, right) => right.length - left.length);
  return (text) => sought.reduce((rest, secret) => rest.replaceAll(secret, CONCEALED), text);
}

function passwordIn(encoded: string): readonly string[] {
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}
