/**
 * Removes secrets from data that is about to be stored or sent: known secrets by value, others by
 * form. A 64-hex Agent-ID is left untouched.   OpenWOP SR-1, RFC 0002 §B
 */
import { isRecord } from "./json-value.ts";

/** A secret that this server knows, and the name that replaces it. */
export interface KnownSecret {
  readonly name: string;
  readonly value: string;
}

/** Removes secrets from texts and values. */
export interface Redactor {
  text(text: string): string;
  /** Returns a copy of a JSON value without secrets. */
  value<Value>(value: Value): Value;
  /** Returns the places of secrets in a text, in order and disjoint. */
  spans(text: string): readonly Span[];
  /** Returns the length of the text after which an incomplete secret may begin. */
  settledLength(text: string): number;
}

/** A secret in a text. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** The minimum length of a secret; shorter ones would occur in ordinary words. */
const MIN_SECRET_LENGTH = 6;
const MAX_SECRETS = 1024;
const MAX_DEPTH = 64;
const TOO_DEEP = "[REDACTED:too-deep]";
/** The length by which a pattern recognises any credential. */
const MAX_UNKNOWN_LENGTH = 512;
const WHITE_SPACE = /\s/;
const OPENING_LENGTH = 96;
const AGENT_ID_LENGTH = 64;
const AGENT_ID = /(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])/g;

/** Creates a redactor of known secrets; the longest are searched first. */
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

/** Conceals every text and number in a value whose name marks a credential. */
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

/** A secret may begin with the last word, or with what introduces it. */
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

/** Returns the length of a secret's beginning that a text ends with. */
function overlapOf(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}

/** Returns a text without its secrets. */
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
      // A secret that is part of an Agent-ID is no secret there.
      if (!isPartOf(agentIds[agentId], start, end)) found.push({ start, end, replacement });
      start = text.indexOf(value, end);
    }
  }
  for (const { name, opening, pattern } of patterns) {
    if (opening !== undefined && !text.includes(opening)) continue;
    // An iterator over matches takes ten times as long for a short text.
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

/** Merges overlapping spans, under the name of the first and longest. */
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

/** The characters of a token after its prefix. */
const TOKEN = "[A-Za-z0-9_-]";

/** Prefixes of issuers' keys, by the minimum length of the rest. */
const PREFIXED: readonly (readonly [least: number, ...prefixes: readonly string[]])[] = [
  [8, "sk-", "rk_live_", "sk_live_", "sk_test_", "pk_live_", "xai-"],
  [8, "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
  [12, "glpat-"],
  [16, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "AKIA", "ASIA"],
  [30, "AIza"],
];

/** The form of one kind of credential. */
interface CredentialPattern {
  /** The name that replaces a match. */
  readonly name: string;
  /** A text that occurs in every match, so that texts without it are not searched. */
  readonly opening?: string;
  readonly pattern: RegExp;
}

/**
 * Returns the forms of credentials, of any issuer. Each pattern takes one step a character, without
 * backtracking. A match whose group is empty is skipped. Hex digits alone are no credential, since
 * Agent-IDs are.   OpenWOP SR-1
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
    // "Basic" also begins sentences, where the next word is all lower-case.
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

/** The beginning of a credential that continues after white space, at the end of a text. */
const OPEN_CREDENTIAL: RegExp = /(?:-----BEGIN[A-Z -]{0,48}|\b(?:bearer|basic)[ \t]{0,8})$/i;

/** Names of members that hold credentials, in lower case without `-` and `_`. */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set([
  ...["apikey", "xapikey", "apisecret", "secret", "secretkey", "clientsecret", "privatekey"],
  ...["password", "passwd", "passphrase", "credential", "credentials", "authorization"],
  ...["accesstoken", "refreshtoken", "idtoken", "bearertoken", "authtoken", "sessiontoken"],
  ...["cookie", "setcookie"],
]);

/** Tells whether a member's name marks a credential. */
function namesCredential(name: string): boolean {
  return name.length <= 64 && CREDENTIAL_NAMES.has(name.toLowerCase().replace(/[-_]/g, ""));
}

/** The growth of held text before it is searched again, while nothing can be released. */
const GROWTH = 1.25;

export class RedactedStream {
  readonly #redactor: Redactor;
  #held = "";
  #due = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Returns the next part of the text that cannot belong to a secret. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#held.length < this.#due) return "";
    const spans = this.#redactor.spans(this.#held);
    let settled = this.#redactor.settledLength(this.#held);
    // A secret may continue beyond the text so far.
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

  /** Returns the rest. */
  end(): string {
    const shown = this.#redactor.text(this.#held);
    this.#held = "";
    return shown;
  }
}
