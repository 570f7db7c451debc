/**
 * For every conformance case, what a server would have to do to break what the case is about. The
 * name is the case's; `at` is the exchange of the case whose answer is altered.
 */
import type { Alteration } from "../support/altering-proxy.ts";

/** A way of being broken. */
export interface Mutation {
  /** Position of the answer in the case, from 0. */
  readonly at: number;
  readonly change: Alteration;
  /** The configuration of the daemon that it shows with; default: the first that passes the case. */
  readonly config?: string;
}

/** The server answers with another status. */
function status(code: number, at = 0): Mutation {
  return { at, change: (reply) => ({ ...reply, status: code }) };
}

const ACCEPTED = status(200);
const UNKNOWN = status(459);
const MISSING = status(404);

/** A header field has another value; undefined: it is left out. */
function header(name: string, value: string | undefined, at = 0): Mutation {
  return {
    at,
    change: (reply) => {
      const headers = new Map(reply.headers);
      if (value === undefined) headers.delete(name);
      else headers.set(name, value);
      return { ...reply, headers };
    },
  };
}

/** The body is another one. */
function body(value: unknown, at = 0): Mutation {
  return { at, change: (reply) => ({ ...reply, body: JSON.stringify(value) }) };
}

/** What is at this place of the body is another value; undefined: it is left out. */
function member(path: string, value: unknown, at = 0): Mutation {
  return {
    at,
    change: (reply) => {
      const whole: unknown = JSON.parse(reply.body);
      const names = path.split("/");
      const last = names.pop() ?? "";
      const parent = names.reduce((found, name) => Reflect.get(Object(found), name), whole);
      if (Array.isArray(parent) && value === undefined) parent.splice(Number(last), 1);
      else if (value === undefined) Reflect.deleteProperty(Object(parent), last);
      else Reflect.set(Object(parent), last, value);
      return { ...reply, body: JSON.stringify(whole) };
    },
  };
}

/** The entries at this place of the body that have this path are left out. */
function withoutPath(place: "" | "endpoints" | "directory", left: string): Mutation {
  return {
    at: 0,
    change: (reply) => {
      const whole: unknown = JSON.parse(reply.body);
      const list: unknown = place === "" ? whole : Reflect.get(Object(whole), place);
      const kept = (Array.isArray(list) ? list : []).filter(({ path }) => path !== left);
      const altered = place === "" ? kept : { ...Object(whole), [place]: kept };
      return { ...reply, body: JSON.stringify(altered) };
    },
  };
}

/** The first endpoint of the manifest, a composition, is another one. */
function endpoint(path: string, value: unknown): Mutation {
  return member(`endpoints/0/${path}`, value);
}

/** The server does not understand input that is valid. */
const UNPROCESSABLE: Mutation = {
  at: 0,
  change: (reply) => ({
    ...reply,
    status: 422,
    body: JSON.stringify({ error: { code: "schema-validation-failed" } }),
  }),
};

const ANOTHER_ID = "0".repeat(64);

/** By the name of the case. */
export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  "3.1-cognitive-floor": status(459, 6),
  "3.1-mechanics-floor": status(459, 2),
  "3.1-lifecycle-floor": status(459, 4),
  "3.2-lower-case-method": MISSING,
  "3.2-method-too-long": MISSING,
  "3.2-method-too-short": MISSING,
  "3.2-method-with-digit": MISSING,
  "3.2-unknown-method": MISSING,
  "3.2-unknown-method-on-known-path": status(405),
  "3.3-custom-method": UNKNOWN,
  "3.6-legacy-not-opted-in": MISSING,
  "3.6-legacy-opted-in": UNKNOWN,
  "4.3-catalog-versions": member("catalog_versions_supported", ["9.9.9"]),
  "4.4-catalog-warning": header("agtp-catalog-warning", undefined),
  "4.4-catalog-warning-fields": header("agtp-catalog-warning", "deprecated; successor=NOTHING"),
  "4.4-catalog-warning-on-refusal": header("agtp-catalog-warning", undefined),
  "4.4-no-warning-without-deprecation": header("agtp-catalog-warning", "deprecated"),
  "4.8-single-version": member("catalog_versions_supported/1", "9.9.9"),
  "5.1-method-as-part-of-segment": status(460, 1),
  "5.1-method-in-any-case": MISSING,
  "5.1-method-in-first-segment": MISSING,
  "5.1-method-in-path": status(405),
  "5.1-method-with-separators": status(404, 1),
  "5.1-no-leading-slash": MISSING,
  "5.1-offending-segment": body({ error: { code: "path-grammar-violation" } }),
  "5.1-trailing-slash": MISSING,
  "5.2-bad-percent-encoding": MISSING,
  "5.2-illegal-character": MISSING,
  "5.3-permissive-style": status(460),
  "5.4-unknown-path": status(405),
  "5.5-body-beats-query": UNPROCESSABLE,
  "5.5-last-query-value": UNPROCESSABLE,
  "5.5-query-is-input": UNPROCESSABLE,
  "5.5-query-is-not-path": status(460),
  "5.5-query-is-validated": ACCEPTED,
  "5.5-undeclared-query-parameter": ACCEPTED,
  "5.6-fragment-in-path": MISSING,
  "5.6-fragment-in-query": body({ error: { code: "bad-request" } }),
  "5.8-built-ins-in-manifest": withoutPath("endpoints", "/methods"),
  "5.8-methods": member("0/description", undefined),
  "5.8-methods-is-complete": member("0", undefined),
  "5.8-methods-lists-itself": withoutPath("", "/methods"),
  "5.8.1-genesis": member("owner", "somebody else"),
  "5.8.2-agents": member("0/trust_tier", undefined),
  "5.8.2-optional-fields": member("0/methods_count", "many"),
  "5.8.2-trust-posture": member("0/verification_path", "believed"),
  "5.8.3-directory": member("directory", "everything"),
  "5.8.3-directory-lists-methods": withoutPath("directory", "/methods"),
  "5.8.4-tools": body([{ description: "a tool without a name" }]),
  "5.8.5-apis": body({ apis: [] }),
  "5.8.6-pattern-entries": member("patterns/0/path_regex", "^/"),
  "5.8.6-patterns": member("rcns_enabled", "no"),
  "5.8.6-patterns-exposed": MISSING,
  "5.8.7-contract-hidden-from-others": {
    at: 1,
    change: (reply, [approval]) => ({ ...reply, body: `[${approval?.body}]` }),
  },
  "5.8.7-contract-is-listed": body([], 1),
  "5.8.7-contracts": body([{ synthesis_id: "syn-1" }]),
  "5.8.7-own-contracts-only": body([{ originating_agent_id: ANOTHER_ID }]),
  "5.10-target-conflict": ACCEPTED,
  "5.10-target-is-path": body({ endpoints: [] }),
  "6.1-known-path-other-method": MISSING,
  "6.3-required-fields": endpoint("errors", undefined),
  "6.4-errors": endpoint("errors", [404]),
  "6.4-input-schema": endpoint("input_schema/additionalProperties", undefined),
  "6.4-method-form": endpoint("method", "book"),
  "6.4-output-schema": endpoint("output_schema", { type: "anything" }),
  "6.4-path-form": endpoint("path", "/rooms/{id}-{id}"),
  "6.4-path-parameters": endpoint("path", "/rooms/{undeclared}"),
  "6.4-required-scopes": endpoint("required_scopes", "booking:room"),
  "6.4-scope-violation": ACCEPTED,
  "6.5-deprecation-block": endpoint("deprecated", { successor: "BOOK /room" }),
  "6.5-endpoint-warning": header("agtp-endpoint-warning", "deprecated"),
  "6.5-endpoint-warning-on-failure": header("agtp-endpoint-warning", undefined),
  "6.5-no-warning-without-deprecation": header("agtp-endpoint-warning", "deprecated"),
  "7.1-capability": endpoint("semantic/capability", "magic"),
  "7.1-confidence": endpoint("semantic/confidence", 1.5),
  "7.1-idempotency": endpoint("semantic/is_idempotent", "mostly"),
  "7.1-impact": endpoint("semantic/impact", "harmless"),
  "7.1-semantic-block": endpoint("semantic/outcome", undefined),
  "7.1-semantic-texts": endpoint("semantic/intent", ""),
  "8.2-versions": member("document_version", undefined),
  "8.3-operator": member("server/contact", null),
  "8.3-server-block": member("server/server_id", undefined),
  "8.3-timestamps": member("server/updated", "yesterday"),
  "8.4-embedded-methods": member("embedded_methods/3", undefined),
  "8.5-agent-disclosure": member("agent_disclosure", "secret"),
  "8.5-authenticated-disclosure": member("agent_disclosure", "authenticated"),
  "8.6-surfaces": member("hosted_protocols", [{ method: "EXECUTE" }]),
  "8.7-anonymous-discovery": status(262),
  "8.7-closed-discovery": ACCEPTED,
  "8.7-policies": member("policies/max_synthesis_depth", 0),
  "8.7-synthesis-disabled": body({ reason: "not-now" }),
  "8.8-manifest-signature": { ...member("server/operator", "Mallory"), config: "signed" },
  "8.8-manifest-signed": member("manifest_signature", null),
  "8.9-no-binding-beside-handler": endpoint("url", "https://internal.example"),
  "8.9-projection": endpoint("handler/function", "handlers.echo"),
  "8.10-agent-level-discovery": member("endpoints", []),
  "8.10-content-type": header("content-type", "application/json"),
  "8.10-manifest": member("endpoints", undefined),
  "8.11-caching": header("etag", undefined),
  "9.2-alias": UNKNOWN,
  "9.2-aliases-do-not-chain": member("policies/methods/aliases", { GET: "POST", POST: "CREATE" }),
  "9.2-disallowed-method": member("allowed_methods_for_path", ["TRANSFER"]),
  "9.2-floor-beyond-allow-list": status(405),
  "9.2-method-not-allowed": MISSING,
  "9.2-policy-shape": member("policies/methods/legacy", ["HEAD"]),
  "9.2-redirect": MISSING,
  "9.5-policy-in-manifest": member("policies/methods", undefined),
  "10.1.1-bare-pair-of-another": status(200, 1),
  "10.1.2-no-opt-in": status(461),
  "10.1.2-nothing-to-compose": body({ reason: "too-busy" }),
  "10.1.2-opt-in-not-true": status(464),
  "10.1.2-rcns-disabled": MISSING,
  "10.1.2-scope-required": body({ type: "credentials-missing" }),
  "10.1.3-accepting": header("attribution-record", undefined, 1),
  "10.1.3-delivery": member("contract_hash", "unhashed"),
  "10.1.4-contract-of-another": status(200, 1),
  "10.1.4-released-contract": status(200, 2),
  "10.1.4-unknown-contract": ACCEPTED,
  "10.1.4.1-sweep-is-the-operators": ACCEPTED,
  "10.1.5-idempotency-key": member("reservation_id", "another", 2),
  "10.1.6-record": header("attribution-record", "eyJhbGciOiJub25lIn0.e30.", 1),
  "10.3-invocation": status(404, 1),
  "10.4-ambiguous-body": status(263),
  "10.4-legacy-form": status(400),
  "10.4-wrapped-form": member("path", "/somewhere/else"),
  "10.4.3-approved-endpoint": member("endpoint/handler", { type: "composition", recipe: "stay" }),
  "10.4.3-recipe-lineage": member("recipe_lineage", { recipe_name: "stay" }),
  "10.6-authority": status(263),
  "10.6-composition-impossible": body({ error: { code: "no" } }),
  "10.6-input-schema": status(263),
  "10.6-method": status(463),
  "10.6-output-schema": status(263),
  "10.6-path": status(463),
  "10.6-policy-refused": status(263),
  "10.6-semantic-incomplete": status(263),
  "10.6-semantic-invalid": status(263),
  "10.6-semantic-missing": status(263),
  "11-405-body": member("allowed_methods_for_path", []),
  "11-405-body-of-policy": member("redirects_for_path", undefined),
  "11-method-before-path": UNKNOWN,
  "11-negotiation-in-progress": status(404, 1),
  "12.1-composition-errors": endpoint("errors", []),
  "12.3-external-service-errors": endpoint("handler/type", "external_service"),
  "13.2-input-of-wrong-type": ACCEPTED,
  "13.2-missing-input": ACCEPTED,
  "13.2-valid-input": UNPROCESSABLE,
  "13.2-validation-report": body("no"),
  "13.3-undeclared-input": ACCEPTED,
};
