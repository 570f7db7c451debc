/**
 * Takes secrets out of what is about to be kept or sent: known ones by their names, others by what
 * they look like. A 64-hex Agent-ID passes untouched.   OpenWOP SR-1, RFC 0002 §B
 */
import { isRecord } from "./json-value.ts";

/** A secret that this server knows, and the name it is replaced with. */
export interface KnownSecret {
  readonly name: string;
  readonly value: string;
}

/** Takes secrets out of texts and values. */
export interface Redactor {
  text(text: string): string;
  /** A copy of a JSON value. */
  value<Value>(value: Value): Value;
  /** The places of the secrets in a text, in order and apart. */
  spans(text: string): readonly Span[];
  /** Up to where, in a text that goes on, no secret begins whose end has not been seen. */
  settledLength(text: string): number;
}

/** One secret in a text. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Shorter ones would be found in words that are none. */
const MIN_SECRET_LENGTH = 6;
const MAX_SECRETS = 1024;
const MAX_DEPTH = 64;
const TOO_DEEP = "[REDACTED:too-deep]";
/** No credential is longer before one of the patterns knows it. */
const MAX_UNKNOWN_LENGTH = 512;
const WHITE_SPACE = /\s/;
const OPENING_LENGTH = 96;
const AGENT_ID_LENGTH = 64;
const AGENT_ID = /(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])/g;

/** A redactor that knows some secrets; the longest are looked for first. */
export function createRedactor(known: readonly KnownSecret[]): Redactor {
  const secrets = known
    .filter(({ value }) => value.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.value.length - a.value.length)
    .slice(0, MAX_SECRETS);
  const patterns = credentialPatterns();
  const spans = (text: string): readonly Span[] => apart(findSpans(text, secrets, patterns));
  const redactText = (text: string): string => replaceSpans(text, spans(text));
  const redact = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redactText(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth === 0) return TOO_DEEP;
    if (Array.isArray(value)) return value.map((item) => redact(item, depth - 1));
    if (!isRecord(value)) return value;
    const members = Object.entries(value).map(([name, member]): [string, unknown] => {
      const meant = namesCredential(name) ? conceal(member, name, depth) : member;
      const shown = redact(meant, depth - 1);
      return [redactText(name), shown];
    });
    return Object.fromEntries(members);
  };
  return {
    text: redactText,
    value: <Value>(value: Value) => redact(value, MAX_DEPTH) as Value,
    spans,
    settledLength: (text) => settledLength(text, secrets),
  };
}

/** Every text and number in what is a credential by its name. */
function conceal(value: unknown, name: string, depth: number): unknown {
  if (typeof value === "number" || (typeof value === "string" && value !== "")) {
    return `[REDACTED:${name}]`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return TOO_DEEP;
  if (Array.isArray(value)) return value.map((item) => conceal(item, name, depth - 1));
  const members = Object.entries(value).map(([key, member]) => {
    return [key, conceal(member, name, depth - 1)] as const;
  });
  return Object.fromEntries(members);
}

/** A secret may begin with the last word, or with what announces one. */
function settledLength(text: string, secrets: readonly KnownSecret[]): number {
  let at = text.length;
  const least = text.length - Math.max(MAX_UNKNOWN_LENGTH, secrets[0]?.value.length ?? 0);
  while (at > 0 && at > least && !WHITE_SPACE.test(text[at - 1] ?? "")) at -= 1;
  const opening = OPEN_CREDENTIAL.exec(text.slice(Math.max(0, at - OPENING_LENGTH), at));
  at -= opening?.[0].length ?? 0;
  for (const { value } of secrets) {
    if (WHITE_SPACE.test(value)) at = Math.min(at, text.length - overlapOf(text, value));
  }
  return Math.max(0, at);
}

/** The length of the secret's beginning that a text ends with. */
function overlapOf(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}

/** A text without its secrets. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let rest = 0;
  let shown = "";
  for (const { start, end, replacement } of spans) {
    shown += text.slice(rest, start) + replacement;
    rest = end;
  }
  return shown + text.slice(rest);
}

function findSpans(
  text: string,
  secrets: readonly KnownSecret[],
  patterns: ReturnType<typeof credentialPatterns>,
): Span[] {
  const found: Span[] = [];
  let agentIds: readonly number[] | undefined;
  for (const { name, value } of secrets) {
    const replacement = `[REDACTED:${name}]`;
    let agentId = 0;
    for (let start = text.indexOf(value); start !== -1; ) {
      agentIds ??= [...text.matchAll(AGENT_ID)].map(({ index }) => index);
      const end = start + value.length;
      while ((agentIds[agentId + 1] ?? Number.POSITIVE_INFINITY) <= start) agentId += 1;
      // A secret that happens to be a part of an Agent-ID is none there.
      if (!isPartOf(agentIds[agentId], start, end)) found.push({ start, end, replacement });
      start = text.indexOf(value, end);
    }
  }
  for (const { name, opening, pattern } of patterns) {
    if (opening !== undefined && !text.includes(opening)) continue;
    // An iterator over matches takes ten times as long over a short text.
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const { index: start, 0: matched, 1: needed, length } = match;
      if (length > 1 && needed === undefined) continue;
      found.push({ start, end: start + matched.length, replacement: `[REDACTED:${name}]` });
    }
  }
  return found;
}

function isPartOf(agentId: number | undefined, start: number, end: number): boolean {
  if (agentId === undefined || end - start >= AGENT_ID_LENGTH) return false;
  return start >= agentId && end <= agentId + AGENT_ID_LENGTH;
}

/** Spans that overlap become one, under the name of the first and longest. */
function apart(spans: readonly Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { ...last, end: span.end };
  }
  return merged;
}

/** The characters that end the part of a token that its prefix begins. */
const TOKEN = "[A-Za-z0-9_-]";

/** Prefixes that issuers put before their keys, by the least length of what follows. */
const PREFIXED: readonly (readonly [least: number, ...prefixes: readonly string[]])[] = [
  [8, "sk-", "rk_live_", "sk_live_", "sk_test_", "pk_live_", "xai-"],
  [8, "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
  [12, "glpat-"],
  [16, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "AKIA", "ASIA"],
  [30, "AIza"],
];

/** The form of a kind of credentials. */
interface CredentialPattern {
  /** Stands in the place of what it matches. */
  readonly name: string;
  /** Stands in every text that has one: any other need not be looked at. */
  readonly opening?: string;
  readonly pattern: RegExp;
}

/**
 * The forms of credentials, whoever issued them. Each pattern takes one step a character: no text
 * makes it backtrack. What a group matches has to be there; without it the match is passed over
 * whole. A run of hex digits alone is no credential, since Agent-IDs are that.   OpenWOP SR-1
 */
function credentialPatterns(): readonly CredentialPattern[] {
  const prefixed = PREFIXED.map(
    ([least, ...prefixes]) => `(?:${prefixes.join("|")})${TOKEN}{${least},}`,
  ).join("|");
  return [
    {
      name: "private-key",
      opening: "-----BEGIN ",
      pattern:
        /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]{0,32}PRIVATE KEY-----)?/g,
    },
    { name: "bearer-token", pattern: /\bbearer[ \t]{1,8}[A-Za-z0-9._~+/=-]{8,}/gi },
    // "Basic" begins sentences too: the word that follows it there is in lower case throughout.
    {
      name: "basic-token",
      pattern:
        /\b(?:[Bb]asic|BASIC)[ \t]{1,8}(?=[A-Za-z]{0,64}(?:[0-9=+/]|[a-z][A-Z]))[A-Za-z0-9+/=]{8,}/g,
    },
    {
      name: "token",
      opening: "eyJ",
      pattern: /\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*)?/g,
    },
    { name: "api-key", pattern: new RegExp(`(?<![A-Za-z0-9])(?:${prefixed})`, "g") },
    {
      name: "password",
      opening: "://",
      pattern: /(?<=:\/\/[^\s/@:]{0,256}:)[^\s/@]{1,1024}(?=@)/g,
    },
  ];
}

/** The beginning of a credential that goes on after white space, at the end of a text. */
const OPEN_CREDENTIAL: RegExp = /(?:-----BEGIN[A-Z -]{0,48}|\b(?:bearer|basic)[ \t]{0,8})$/i;

/** Names of members whose texts are credentials, in lower case without `-` and `_`. */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set([
  ...["apikey", "xapikey", "apisecret", "secret", "secretkey", "clientsecret", "privatekey"],
  ...["password", "passwd", "passphrase", "credential", "credentials", "authorization"],
  ...["accesstoken", "refreshtoken", "idtoken", "bearertoken", "authtoken", "sessiontoken"],
  ...["cookie", "setcookie"],
]);

/** Tells whether a member of this name holds a credential. */
function namesCredential(name: string): boolean {
  return name.length <= 64 && CREDENTIAL_NAMES.has(name.toLowerCase().replace(/[-_]/g, ""));
}

/** While nothing comes out, so much more has to arrive before it is looked at again. */
const GROWTH = 1.25;

export class RedactedStream {
  readonly #redactor: Redactor;
  #held = "";
  #due = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** The part of the text so far that is past doubt, and was not given out before. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#held.length < this.#due) return "";
    const spans = this.#redactor.spans(this.#held);
    let settled = this.#redactor.settledLength(this.#held);
    // A secret may be longer than what has been seen of it.
    for (const { start, end } of spans.toReversed()) {
      if (end >= settled) settled = Math.min(settled, start);
    }
    this.#due = settled === 0 ? this.#held.length * GROWTH : 0;
    const shown = replaceSpans(
      this.#held.slice(0, settled),
      spans.filter(({ end }) => end <= settled),
    );
    this.#held = this.#held.slice(settled);
    return shown;
  }

  /** The rest. */
  end(): string {
    const shown = this.#redactor.text(this.#held);
    this.#held = "";
    return shown;
  }
}
