/**
 * The forms of credentials, whoever issued them. Each pattern takes one step a character: no text
 * makes it backtrack. A run of hex digits alone is no credential, since Agent-IDs are that.
 * OpenWOP SR-1
 */

/** The characters that end the part of a token that its prefix begins. */
const TOKEN = "[A-Za-z0-9_-]";

/** Prefixes that issuers put before their keys; what follows is at least so long. */
const PREFIXED: readonly (readonly [prefix: string, least: number])[] = [
  ["sk-", 8],
  ["rk_live_", 8],
  ["sk_live_", 8],
  ["sk_test_", 8],
  ["pk_live_", 8],
  ["xai-", 8],
  ["ghp_", 16],
  ["gho_", 16],
  ["ghu_", 16],
  ["ghs_", 16],
  ["ghr_", 16],
  ["github_pat_", 16],
  ["glpat-", 12],
  ["xoxa-", 8],
  ["xoxb-", 8],
  ["xoxp-", 8],
  ["xoxr-", 8],
  ["xoxs-", 8],
  ["npm_", 16],
  ["hf_", 16],
  ["AKIA", 16],
  ["ASIA", 16],
  ["AIza", 30],
];

/** Patterns by the name that stands in place of what they match. */
export function credentialPatterns(): readonly (readonly [name: string, pattern: RegExp])[] {
  const prefixed = PREFIXED.map(([prefix, least]) => `${prefix}${TOKEN}{${least},}`).join("|");
  return [
    [
      "private-key",
      /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]{0,32}PRIVATE KEY-----)?/g,
    ],
    ["bearer-token", /\bbearer[ \t]{1,8}[A-Za-z0-9._~+/=-]{8,}/gi],
    // "Basic" begins sentences too: the word that follows it there is in lower case throughout.
    [
      "basic-token",
      /\b(?:[Bb]asic|BASIC)[ \t]{1,8}(?=[A-Za-z]{0,64}(?:[0-9=+/]|[a-z][A-Z]))[A-Za-z0-9+/=]{8,}/g,
    ],
    ["token", /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*/g],
    ["api-key", new RegExp(`(?<![A-Za-z0-9])(?:${prefixed})`, "g")],
    ["password", /(?<=:\/\/[^\s/@:]{0,256}:)[^\s/@]{1,1024}(?=@)/g],
  ];
}

/** The beginning of a credential that goes on after white space, at the end of a text. */
export const OPEN_CREDENTIAL: RegExp = /(?:-----BEGIN[A-Z -]{0,48}|\b(?:bearer|basic)[ \t]{0,8})$/i;

/** Names of members whose texts are credentials, in lower case without `-` and `_`. */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set([
  ...["apikey", "xapikey", "apisecret", "secret", "secretkey", "clientsecret", "privatekey"],
  ...["password", "passwd", "passphrase", "credential", "credentials", "authorization"],
  ...["accesstoken", "refreshtoken", "idtoken", "bearertoken", "authtoken", "sessiontoken"],
  ...["cookie", "setcookie"],
]);

/** Tells whether a member of this name holds a credential. */
export function namesCredential(name: string): boolean {
  return name.length <= 64 && CREDENTIAL_NAMES.has(name.toLowerCase().replace(/[-_]/g, ""));
}
