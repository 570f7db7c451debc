/** Consistency rules between keys.   AGTP-API §3.3 and §9 */
import { findLocationFault } from "../../state/postgres/driver.ts";
import { type CrossCheck, rule } from "./config.ts";

const HTTP_METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"],
]);

/** An origin, with or without a trailing slash. */
const ORIGIN = /^https?:\/\/[^\s/?#@]+\/?$/;

/** The rules of this file. */
export const consistencyChecks: readonly CrossCheck[] = [
  rule(["policies"], ({ policies }, report) => {
    for (const [index, name] of policies.methods.custom.entries()) {
      if (!HTTP_METHODS.has(name)) continue;
      report(`policies.methods.custom[${index}]`, `must not be an HTTP method, got "${name}"`, {
        hint: "policies.methods.legacy accepts HTTP verbs",
      });
    }
  }),
  rule(["policies"], ({ policies }, report) => {
    for (const [index, redirect] of policies.methods.redirects.entries()) {
      const { fromMethod, fromPath, toMethod, toPath = fromPath } = redirect;
      if (fromMethod !== toMethod || fromPath !== toPath) continue;
      report(`policies.methods.redirects[${index}]`, "must not redirect to itself");
    }
  }),
  rule(["policies"], ({ policies: { oauth } }, report) => {
    if (oauth === undefined) return;
    if ((oauth.jwksUri === undefined) !== (oauth.jwksFile === undefined)) return;
    report("policies.oauth", "must have one of jwks_uri and jwks_file");
  }),
  rule(["processes"], ({ processes }, report) => {
    const names = new Set<string>();
    for (const [index, { name, command }] of processes.entries()) {
      if (command[0] === "")
        report(`processes[${index}].command[0]`, "is empty, expected a program");
      if (names.has(name)) report(`processes[${index}].name`, `is "${name}" a second time`);
      names.add(name);
    }
  }),
  // The base URL is published, and paths are appended to it.
  rule(["gateway"], ({ gateway: { baseUrl = "http://localhost" } }, report) => {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "")
      return;
    // Not quoted, since it may contain a password.
    report("gateway.base_url", "must be a URL without credentials, query and fragment");
  }),
  // Fastify cannot limit bodies to 0 octets.
  rule(["gateway", "limits"], ({ gateway, limits }, report) => {
    if (!gateway.enabled || limits.bodyBytes > 0) return;
    report("limits.body_bytes", "must be at least 1 with gateway.enabled = true, got 0");
  }),
  // Paths are appended to the endpoint; a password in it is meant for the collector.
  rule(["tracing"], ({ tracing: { endpoint } }, report) => {
    const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    if (url !== undefined && `${url.search}${url.hash}` === "") return;
    report("tracing.endpoint", "must be a URL without query and fragment");
  }),
  // The console needs a whole origin, which browsers attach its pages, links and cookies to.
  rule(["console"], ({ console: { baseUrl, cert } }, report) => {
    if (baseUrl === undefined) return;
    const key = "console.base_url";
    if (!ORIGIN.test(baseUrl) || !URL.canParse(baseUrl)) {
      report(key, `must be a scheme, a host and at most a port, got "${baseUrl}"`, {
        hint: "the console has a name or a port of its own, and no path below another's",
      });
    } else if (cert !== undefined && new URL(baseUrl).protocol !== "https:") {
      report(key, `must be https where console.cert is given, got "${baseUrl}"`);
    }
  }),
  // The issuer must be a usable URL, and the settings must permit somebody to sign in.
  rule(["console"], ({ console: { oidc } }, report) => {
    if (oidc === undefined) return;
    const { issuer, scope, viewers, operators } = oidc;
    const { search, hash } = URL.canParse(issuer) ? new URL(issuer) : { search: "?", hash: "" };
    if (search !== "" || hash !== "") {
      report("console.oidc.issuer", `must be a URL without query and fragment, got "${issuer}"`);
    }
    if (!scope.split(" ").includes("openid")) {
      report("console.oidc.scope", `must have "openid" among its scopes, got "${scope}"`);
    }
    if (viewers.length + operators.length === 0) {
      report("console.oidc.operators", "nobody is in it or in viewers, so nobody could sign in", {
        hint: "list the values of role_claim that make somebody an operator or a viewer",
      });
    }
    for (const [index, value] of viewers.entries()) {
      if (!operators.includes(value)) continue;
      const message = `"${value}" is in operators as well, which decides`;
      report(`console.oidc.viewers[${index}]`, message, { severity: "warning" });
    }
  }),
  rule(["store"], ({ store }, report) => {
    const { driver, url, schema, ca } = store;
    if (driver !== "postgres") {
      if (url === undefined) return;
      const message = `is not used by driver = "${driver}"`;
      report("store.url", message, { hint: 'driver = "postgres" does', severity: "warning" });
      return;
    }
    if (url === undefined) {
      report("store.url", 'is required by driver = "postgres"');
      return;
    }
    const fault = findLocationFault({ url, schema, ca });
    if (fault !== undefined) report(`store.${fault.key}`, fault.message);
  }),
  rule(
    ["synthesis"],
    ({ synthesis: { persistentDefaultSeconds: usual, persistentMaxSeconds: most } }, report) => {
      if (usual <= most) return;
      const message = `must be at most synthesis.persistent_max_seconds, ${most}, got ${usual}`;
      report("synthesis.persistent_default_seconds", message);
    },
  ),
  rule(["webhooks"], ({ webhooks: { escalations, recipients } }, report) => {
    const urls = Object.entries(recipients).map(
      ([name, url]) => [`recipients.${name}`, url] as const,
    );
    for (const [key, url] of [["escalations", escalations] as const, ...urls]) {
      // Not quoted, since parts of a URL other than its host may be secret.
      if (url !== undefined && !URL.canParse(url)) report(`webhooks.${key}`, "must be a URL");
    }
  }),
  // Checks a group's webhooks; its agents are checked once the agents are loaded.
  rule(["webhooks", "groups"], ({ webhooks: { recipients }, groups }, report) => {
    for (const [name, members] of Object.entries(groups)) {
      if (members.length === 0) report(`groups.${name}`, "must have a member");
      if (members.length > MAX_GROUP_MEMBERS) {
        report(`groups.${name}`, `must have at most ${MAX_GROUP_MEMBERS} members`);
      }
      for (const [index, member] of members.entries()) {
        const fault = findMemberFault(member, recipients);
        if (fault !== undefined) report(`groups.${name}[${index}]`, fault);
      }
    }
  }),
  // Both the name and the server id identify a peer.
  rule(["peers", "server"], ({ peers, server }, report) => {
    for (const [index, { name, serverId }] of peers.entries()) {
      const before = peers.slice(0, index);
      if (before.some((other) => other.name === name)) {
        report(`peers[${index}].name`, `"${name}" is another peer's name`);
      }
      if (serverId === server.serverId || before.some((other) => other.serverId === serverId)) {
        report(`peers[${index}].server_id`, `"${serverId}" is another server's id`);
      }
    }
  }),
  // Delegated tasks are signed, and signed records prove their outcomes.
  rule(["peers", "signing", "attribution"], ({ peers, signing, attribution }, report) => {
    if (peers.length === 0) return;
    if (signing.key === undefined) report("signing.key", "is required by [[peers]]");
    if (!attribution.enabled) report("attribution.enabled", "must be true with [[peers]]");
  }),
  // The runtime that runs OpenWOP agents must be named.
  rule(["openwop"], ({ openwop }, report) => {
    const { kind, baseUrl, function: name } = openwop.runtime;
    const isFunction = kind === "function";
    if (kind === "deterministic" || (isFunction ? name : baseUrl) !== undefined) return;
    const needed = isFunction ? "function" : "base_url";
    report(`openwop.runtime.${needed}`, `is required by kind = "${kind}"`);
  }),
  // MCP uses the sidecar's listener, and its clients need tokens unless anonymous ones are allowed.
  rule(["mcp", "gateway", "policies"], ({ mcp, gateway, policies }, report) => {
    if (!mcp.enabled) return;
    if (!gateway.enabled) report("mcp.enabled", "needs gateway.enabled = true");
    if (mcp.anonymous || policies.oauth !== undefined) return;
    report("mcp.anonymous", "must be true where policies.oauth vouches for nobody", {
      hint: "set anonymous = true, or [policies.oauth] for clients with tokens",
    });
  }),
  // Workers share their parent's store and nodes share a database; the two cannot be combined.
  rule(["server", "store"], ({ server, store }, report) => {
    if (server.workers === 1 || store.driver !== "postgres") return;
    const hint = "start a daemon for each, with a directory and a port of its own";
    report("server.workers", 'must be 1 with store.driver = "postgres"', { hint });
  }),
];

const MAX_GROUP_MEMBERS = 256;

function findMemberFault(
  member: string,
  recipients: Readonly<Record<string, string>>,
): string | undefined {
  const [, kind, name = ""] = /^(webhook|group|infrastructure):(.*)$/.exec(member) ?? [];
  if (kind === undefined) return undefined;
  if (kind !== "webhook") return `must be an agent or webhook:NAME, got "${member}"`;
  return Object.hasOwn(recipients, name) ? undefined : `webhooks.recipients has no "${name}"`;
}
