/**
 * The HTTP request an external service gets: the URL filled from the input, mapped fields in the
 * query, and the rest in the query or in a JSON body. Of the caller's identity nothing is in it.
 * AGTP-API §12.3
 */
import type { ExternalServiceBinding, UpstreamMethod } from "../contract/endpoint.ts";
import { renameKeys } from "./rename-keys.ts";
import { fillUrl, type UpstreamUrl } from "./upstream-url.ts";

type Input = Readonly<Record<string, unknown>>;

/** One request, as undici takes it. */
export interface UpstreamRequest {
  readonly method: UpstreamMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const BODY_METHODS: ReadonlySet<UpstreamMethod> = new Set(["POST", "PUT", "PATCH"]);

/** Compiles a binding into what makes a request out of an input. */
export function compileUpstreamRequest(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
): (input: Input) => UpstreamRequest {
  const { method } = binding;
  const hasBody = BODY_METHODS.has(method);
  const headers = buildHeaders(binding.headers, hasBody);
  const used = new Set([...url.parameters, ...Object.keys(binding.query)]);
  const names = new Map(Object.entries(binding.inputTransform));
  const mapped = Object.entries(binding.query);

  return (input) => {
    const unused = Object.entries(input).filter(([name]) => !used.has(name));
    const rest = renameKeys(Object.fromEntries(unused), names);
    const query = new URLSearchParams();
    for (const [field, parameter] of mapped) {
      if (Object.hasOwn(input, field)) appendValue(query, parameter, input[field]);
    }
    if (!hasBody) {
      for (const [name, value] of Object.entries(rest)) appendValue(query, name, value);
    }
    const path = joinQuery(fillUrl(url, input), query);
    return { method, path, headers, body: hasBody ? JSON.stringify(rest) : null };
  };
}

/** Configured fields replace ours and are sent as they are written. */
function buildHeaders(
  configured: Readonly<Record<string, string>>,
  hasBody: boolean,
): Record<string, string> {
  const own: Record<string, string> = {
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": "agtpd",
    ...(hasBody ? { "content-type": "application/json" } : {}),
  };
  for (const name of Object.keys(configured)) delete own[name.toLowerCase()];
  return { ...own, ...configured };
}

function appendValue(query: URLSearchParams, name: string, value: unknown): void {
  for (const item of Array.isArray(value) ? value : [value]) {
    if (item === undefined || item === null) continue;
    query.append(name, typeof item === "object" ? JSON.stringify(item) : String(item));
  }
}

function joinQuery(path: string, query: URLSearchParams): string {
  if (query.size === 0) return path;
  // A plus is a space to some upstreams and a plus to others; %20 is a space to all.
  const text = query.toString().replaceAll("+", "%20");
  return `${path}${path.includes("?") ? "&" : "?"}${text}`;
}
