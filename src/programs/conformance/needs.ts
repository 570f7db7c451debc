/**
 * Needs of a case: of a server, or of the person who runs it. What a server does not claim it cannot be
 * asked for: such cases are skipped, and the reason is said.
 */

/** Every need, in words that end "this case needs …". */
export const NEEDS = {
  manifest: "a manifest that can be read",
  agent: "an agent to act as (--agent-id)",
  "other-agent": "a second agent (--other-agent-id)",
  scopes: "the scopes that the agent holds (--scope)",
  caller: "discovery without an agent, or an agent (--agent-id)",
  "anonymous-discovery": "policies.anonymous_discovery",
  "closed-discovery": "policies.anonymous_discovery to be off",
  endpoints: "an endpoint in the manifest",
  "hosted-agents": "agents that the manifest discloses",
  "reading-endpoint": "an endpoint that only reads, and that the agent may call (--scope)",
  "typed-endpoint": "such an endpoint whose input can be wrong",
  "required-input": "such an endpoint with required input",
  "query-input": "such an endpoint with input that a query can carry",
  "deprecated-endpoint": "a deprecated endpoint that only reads",
  "scoped-endpoint": "an endpoint that only reads and requires a scope beside those of the agent",
  "known-path": "a registered path, and a method that it is not registered under",
  redirect: "a redirect to an endpoint that only reads",
  alias: "an alias of a method that an endpoint which only reads has",
  catalog: "the catalog of the version that the server uses (--catalog)",
  "deprecated-method": "a deprecated method in the server's catalog",
  "disallowed-method": "a method in policies.methods.disallow",
  "unlisted-method": "policies.methods.allow to be a list",
  "custom-method": "a method of the server's own",
  "refused-legacy": "an HTTP verb that is neither an alias nor opted into",
  "accepted-legacy": "an HTTP verb that is opted into",
  synthesis: "policies.synthesis_enabled",
  "no-synthesis": "policies.synthesis_enabled to be off",
  rcns: "runtime negotiation, as DISCOVER /patterns says it",
  "no-rcns": "runtime negotiation to be off, as DISCOVER /patterns says it",
  proposal: "an endpoint that the server can make (--proposal)",
  "proposal-input": 'input for it ("input" in --proposal)',
} as const;

/** The name of one. */
export type Need = keyof typeof NEEDS;

/** Tells whether a word of a case's notes is a need. */
export function isNeed(word: string): word is Need {
  return Object.hasOwn(NEEDS, word);
}
