/** A server with one endpoint of every kind of binding that needs no network, and two agents. */
import { agentFile, configFile, ECHO_MODULE, endpointFile } from "./deployment.ts";

/** Agent-IDs of the two agents that the deployment knows. */
export const ALICE: string = "a".repeat(64);
export const BOB: string = "b".repeat(64);

const RECIPE = `
[[recipe]]
name = "stay"
version = "3"
description = "Book a room."
required_scopes = ["booking:room"]
[recipe.pattern]
method_exact = "BOOK"
path_regex = "^/stays(/[^/]+)?$"
[[recipe.steps]]
method = "BOOK"
path = "/room"
[recipe.aggregation]
mode = "last"

[[recipe]]
name = "unmatched"
version = "1"
description = "Backs an endpoint and matches nothing."
[[recipe.steps]]
method = "BOOK"
path = "/room"
[recipe.aggregation]
mode = "last"
`;

const UPSTREAM_ERRORS = [
  "upstream_timeout",
  "upstream_connection_error",
  "upstream_malformed_response",
  "upstream_authentication_failed",
  "upstream_error",
];

/** The files of that server, under a configuration. */
export function discoveryFiles(
  tables: Readonly<Record<string, object>> = {},
): Readonly<Record<string, string>> {
  return {
    "agtp-server.toml": configFile(tables),
    "handlers.mjs": ECHO_MODULE,
    "recipes/stays.toml": RECIPE,
    "agents/alice.agent.json": agentFile({
      agent_id: ALICE,
      name: "alice",
      trust_tier: 2,
      owner_id: "acme.example",
      scopes_accepted: ["booking:room"],
    }),
    "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob", trust_tier: 3 }),
    "endpoints/room.toml": endpointFile({
      method: "BOOK",
      path: "/room",
      required_scopes: ["booking:room"],
      deprecated: { deprecated_in: "2.0.0", successor: { path: "/rooms" } },
    }),
    "endpoints/stay.toml": endpointFile({
      method: "RESERVE",
      path: "/stays",
      errors: ["composition_failed"],
      required_scopes: ["booking:room"],
      handler: { type: "composition", recipe: "stay" },
    }),
    "endpoints/orders.toml": endpointFile({
      method: "QUERY",
      path: "/orders/{order_id}",
      properties: { order_id: { type: "string" } },
      errors: UPSTREAM_ERRORS,
      handler: {
        type: "external_service",
        url: "https://orders-upstream.invalid/v1/{order_id}",
        method: "GET",
        timeout_seconds: 1,
        headers: { Authorization: "Bearer secret-of-the-upstream" },
      },
    }),
  };
}
