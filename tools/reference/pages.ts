/** The generated pages of the reference: the keys of a deployment's files. */
import { configSchema } from "../../src/app/config/config.ts";
import { endpointFileSchema } from "../../src/endpoint/endpoint-file-schema.ts";
import { recipeFileSchema } from "../../src/endpoint/recipe-file-schema.ts";
import { schemaTables } from "./schema-tables.ts";
import { sourcePages } from "./source-pages.ts";

/** The text of each page by its file below docs/reference. */
export function referencePages(): ReadonlyMap<string, string> {
  return new Map([
    ["configuration.md", `${CONFIGURATION}\n${schemaTables(configSchema)}\n`],
    ["endpoint-file.md", `${ENDPOINT}\n${schemaTables(endpointFileSchema)}\n`],
    ["recipe-file.md", `${RECIPE}\n${schemaTables(recipeFileSchema)}\n`],
    ...sourcePages(),
  ]);
}

const MADE =
  "<!-- Made by `npm run reference` from the schemas that the daemon reads its files with. -->";

const CONFIGURATION = `# agtp-server.toml

${MADE}

Every key of the configuration. [\`agtp-server.toml\`](../../agtp-server.toml) shows them as a file; yours needs only what differs. \`server_id\` is the one
key that it must have. Relative paths start at the directory of the file. \`\${VAR}\` in a text comes from the environment, or else from \`.env\` beside the
file; \`\${VAR:-text}\` is the text where VAR is not set or empty, and \`$\${\` a literal \`\${\`. \`agtpd --check\` says what is wrong with a file, with file and key; editors check it by \`agtpd schema server\`.
`;

const ENDPOINT = `# An endpoint file

${MADE}

One method on one path: what it means, takes and gives, and who answers. Every \`*.toml\` below \`[endpoints] dir\` is one. \`agtpd schema endpoint\` is
the same for editors.

\`\`\`toml
[endpoint]
method = "QUERY"                  # a method of the catalog, or of [policies.methods] custom
path = "/items/{item_id}"         # {item_id} is a field of the input
description = "Returns one item of the store."
required_scopes = ["items:read"]
errors = ["item_unknown"]         # the only errors that the handler may answer with
semantic = { intent = "Find out what an item costs.", actor = "agent", outcome = "The item is returned; nothing changes.", capability = "retrieval", confidence = 0.95, impact = "informational", is_idempotent = true }
input_schema = { type = "object", required = ["item_id"], additionalProperties = false, properties.item_id = { type = "string" } }
output_schema = { type = "object", required = ["item_id", "price"] }
handler = { type = "registered_function", function = "endpoints.items.query_item" }
\`\`\`

What does not fit the input schema is refused with 422 before the handler sees it; what the handler gives is held against the output schema. A field list
([[endpoint.input.required]], [[endpoint.output]]) may stand instead of both schemas. A composition declares the error \`composition_failed\`, an external
service and an MCP tool the five \`upstream_*\` errors. \`endpoint.handler\` has one of the forms below.
`;

const RECIPE = `# A recipe file

${MADE}

How something is composed of what the server has. A recipe answers for an endpoint of \`type = "composition"\`, and for what agents
[negotiate at run time](../negotiation.md) if its pattern fits. A step reaches its endpoint through every gate, as the agent that called.

\`\`\`toml
[[recipe]]
name = "compare-items"
version = "1"
required_scopes = ["items:read"]          # never less than what the steps ask for
pattern = { method_exact = "COMPARE", path_exact = "/items", has_parameters = ["left", "right"] }
aggregation = { mode = "list" }

[[recipe.steps]]
method = "QUERY"
path = "/items/{item_id}"
capture_as = "left"
parameters.item_id = { kind = "proposal", value = "left" }

[[recipe.steps]]
method = "QUERY"
path = "/items/{item_id}"
parameters.item_id = { kind = "proposal", value = "right" }
\`\`\`
`;
