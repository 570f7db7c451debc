/**
 * The address of an API and the authentication of its operations: security schemes become headers,
 * a cookie or a query parameter that contains a `${VAR}`. Files never contain a secret.   AGTP-API §12.3
 */
import { importedVariable, variableReference } from "../base/environment.ts";
import {
  hasLoneSurrogate,
  isRecord,
  type JsonRecord,
  memberOf,
  recordIn,
  textsIn,
} from "../base/json-value.ts";
import { withoutEndSlashes } from "../base/url-text.ts";
import { checkHeader } from "../endpoint/upstream-format.ts";
import { recordAt } from "./references.ts";
import { type Notes, snake, UniqueNames } from "./words.ts";

interface CredentialVariable {
  readonly name: string;
  /** A description of the value to put there. */
  readonly purpose: string;
}

/** An environment variable that a deployment needs. */
export interface Variable extends CredentialVariable {
  /** The addresses that receive its value. */
  readonly sentTo: readonly string[];
}

/** The credentials that an operation sends with every request. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** Query text, percent-encoded except for its variables. */
  readonly query: readonly string[];
  readonly variables: readonly CredentialVariable[];
  readonly scopes: readonly string[];
  /** Security schemes that external services do not support. */
  readonly unsupported: readonly string[];
  /** Security schemes that the document deprecates. */
  readonly deprecated: readonly string[];
}

const NOTHING: Credentials = {
  headers: {},
  query: [],
  variables: [],
  scopes: [],
  unsupported: [],
  deprecated: [],
};

/** A named security scheme, with the variable for its credential. */
interface NamedScheme {
  readonly name: string;
  readonly scheme: JsonRecord;
  readonly variable: string;
}

/** The security schemes of a document by name, each with its own variable. */
export function readSchemes(
  document: JsonRecord,
  prefix: string,
): ReadonlyMap<string, NamedScheme> {
  const schemes = recordAt(recordAt(document["components"], document)["securitySchemes"], document);
  const variables = new UniqueNames("_");
  return new Map(
    Object.entries(schemes).map(([name, scheme]) => {
      const variable = importedVariable(variables.take(snake(`${prefix} ${name}`) || "api_key"));
      return [name, { name, scheme: recordAt(scheme, document), variable }];
    }),
  );
}

/** The credentials of the first requirement that can be met; those with deprecated schemes come last. */
export function readCredentials(
  security: readonly unknown[],
  schemes: ReadonlyMap<string, NamedScheme>,
): Credentials {
  const alternatives = security.filter(isRecord).map((requirement) => {
    const taken = new Set<string>();
    return Object.entries(requirement).map(([name, scopes]) => {
      const scheme = schemes.get(name);
      const read = scheme === undefined ? undefined : readScheme(scheme, scopes);
      const headers = Object.keys(read?.headers ?? {}).filter((header) => header !== "Cookie");
      // A request can send each header once.
      if (read === undefined || headers.some((header) => taken.has(header.toLowerCase()))) {
        return { ...NOTHING, unsupported: [name] };
      }
      for (const header of headers) taken.add(header.toLowerCase());
      return read;
    });
  });
  const named = alternatives.filter((parts) => parts.length > 0);
  const isMet = (parts: readonly Credentials[]): boolean =>
    parts.every(({ unsupported }) => unsupported.length === 0);
  // Deprecated schemes should be avoided.   OAS 3.2.0 §4.27
  const [chosen] = named.filter(isMet).toSorted((a, b) => deprecatedIn(a) - deprecatedIn(b));
  if (chosen !== undefined) return chosen.reduce(join, NOTHING);
  // If no credentials are required, or none can be sent, the request has none.
  const isOptional = alternatives.some((parts) => parts.length === 0);
  const [first = []] = isOptional ? [] : named;
  return { ...NOTHING, unsupported: first.flatMap(({ unsupported }) => unsupported) };
}

function deprecatedIn(parts: readonly Credentials[]): number {
  return parts.flatMap(({ deprecated }) => deprecated).length;
}

function readScheme({ name, scheme, variable }: NamedScheme, scopes: unknown): Credentials {
  const { type, scheme: kind, in: place, name: parameter } = scheme;
  const reference = variableReference(variable);
  const asked = textsIn(scopes);
  const make = (part: Partial<Credentials>, purpose: string): Credentials => ({
    ...NOTHING,
    ...part,
    variables: [{ name: variable, purpose }],
    scopes: asked,
    deprecated: scheme["deprecated"] === true ? [name] : [],
  });
  const authorization = (word: string): Partial<Credentials> => ({
    headers: { Authorization: `${word} ${reference}` },
  });
  const kindName = typeof kind === "string" ? kind.toLowerCase() : "";
  if (type === "http" && kindName === "basic") {
    return make(authorization("Basic"), "base64 of user:password");
  }
  if (type === "http" && kindName === "bearer") return make(authorization("Bearer"), "a token");
  if (type === "oauth2" || type === "openIdConnect") {
    return make(authorization("Bearer"), "an access token; renewing it is left to you");
  }
  if (type !== "apiKey" || typeof parameter !== "string" || parameter === "") {
    return { ...NOTHING, unsupported: [name] };
  }
  const key = { name, parameter, place, reference };
  const part = placeKey(key);
  if (part === undefined) return { ...NOTHING, unsupported: [name] };
  const encoded = place === "query" ? ", percent-encoded" : "";
  return make(part, `the key that is sent as ${parameter}${encoded}`);
}

interface ApiKey {
  readonly parameter: string;
  readonly place: unknown;
  readonly reference: string;
}

function placeKey({ parameter, place, reference }: ApiKey): Partial<Credentials> | undefined {
  switch (place) {
    case "header":
      return checkHeader(parameter, "") === undefined
        ? { headers: { [parameter]: reference } }
        : undefined;
    case "cookie":
      return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(parameter)
        ? { headers: { Cookie: `${parameter}=${reference}` } }
        : undefined;
    case "query":
      return hasLoneSurrogate(parameter)
        ? undefined
        : { query: [`${encodeURIComponent(parameter)}=${reference}`] };
    default:
      return undefined;
  }
}

function join(first: Credentials, second: Credentials): Credentials {
  const cookies = [first.headers["Cookie"], second.headers["Cookie"]].filter(Boolean).join("; ");
  return {
    headers: {
      ...first.headers,
      ...second.headers,
      ...(cookies === "" ? {} : { Cookie: cookies }),
    },
    query: [...first.query, ...second.query],
    variables: [...first.variables, ...second.variables],
    scopes: [...first.scopes, ...second.scopes],
    unsupported: [...first.unsupported, ...second.unsupported],
    deprecated: [...first.deprecated, ...second.deprecated],
  };
}

/** A base URL without a trailing slash, or the reason there is none. */
type BaseUrl =
  | { readonly url: string; readonly fault?: undefined }
  | { readonly url?: undefined; readonly fault: string };

const VARIABLE = /\{([^{}]*)\}/g;

/**
 * The address of the first usable server, with default values for variables. External services use
 * https only, so a plain http address is changed to https, with a note.   AGTP-API §12.3
 */
export function findBaseUrl(servers: readonly unknown[], notes: Notes): BaseUrl {
  const urls = servers.flatMap((server) => {
    const url = expandServer(server, notes);
    return url === undefined ? [] : [url];
  });
  const [relative] = urls;
  if (relative === undefined) return { fault: "the document names no server, give --base-url" };
  const secure = urls.find((url) => /^https:\/\//i.test(url));
  if (secure !== undefined) return checkBaseUrl(secure);
  const plain = urls.find((url) => /^http:\/\//i.test(url));
  if (plain === undefined) {
    return { fault: `the server ${JSON.stringify(relative)} is no https address, give --base-url` };
  }
  notes.add(`the server ${plain} is asked by https, which is the only way`);
  return checkBaseUrl(plain.replace(/^http:/i, "https:"));
}

/** Checks and normalizes a base URL. */
export function checkBaseUrl(written: string): BaseUrl {
  const url = withoutEndSlashes(written);
  const shown = JSON.stringify(url.slice(0, 100));
  if (!/^https:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/i.test(url) || !URL.canParse(url)) {
    return { fault: `the base URL ${shown} must be an https address without query and fragment` };
  }
  const { username, password } = new URL(url);
  if (username === "" && password === "" && !/[{}"<>\\^`|]/.test(url)) return { url };
  return { fault: `the base URL ${shown} must have no credentials and no variables` };
}

function expandServer(server: unknown, notes: Notes): string | undefined {
  if (!isRecord(server) || typeof server["url"] !== "string") return undefined;
  const variables = recordIn(server["variables"]);
  return server["url"].slice(0, 2048).replace(VARIABLE, (whole, name: string) => {
    const variable = memberOf(variables, name);
    const value = recordIn(variable)["default"];
    if (typeof value !== "string" && typeof value !== "number") return whole;
    notes.add(`the variable {${name}} of the server's address is ${JSON.stringify(value)} here`);
    return String(value);
  });
}
