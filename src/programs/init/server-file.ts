/**
 * The texts of a new deployment: its configuration, with the answers and the most sought settings;
 * one endpoint with its handler, and one recipe that composes it into a method that is not
 * registered.
 */

import { literalText } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { writeToml } from "../../openapi/write-toml.ts";
import type { Answers, HandlerLanguage } from "./answers.ts";

/** The configuration's file name in the deployment. */
export const SERVER_FILE = "agtp-server.toml";

/** The path of the signing key in the configuration. */
export const SIGNING_KEY = ".agtp/keys/signing.pem";

const PYTHON_PROCESS = `[[processes]]                   # a program whose functions endpoints name as items:FUNCTION
name = "items"
command = ["python3", "handlers/items.py"]
# count = 1                     # so many of it
# concurrency = 16              # calls at once in each
# env = { DB = "\${DB}" }        # beside PATH, HOME, LANG and TZ

`;

/** The text of agtp-server.toml. */
export function serverFile({ serverId, operator, contact, port, handlers }: Answers): string {
  const reach =
    contact === undefined
      ? '# contact = "ops@acme.example"   # where to reach them; shown in the manifest'
      : `contact = ${quoted(contact)}`;
  return `# ${serverId}: what differs from the defaults. Every key that there is, with its default and its
# meaning, is in the agtp-server.toml that comes with agtpd.
#
# Relative paths start at the directory of this file. \${VAR} in a string is replaced from the
# environment or from .env when the file is read, which is where secrets belong; \${VAR:-text} is the
# text where VAR is not set, $\${ a literal \${. After a change:
#   agtpd --check --config ${SERVER_FILE}     what is wrong with it
#   agtpd reload                                have the running daemon read it again
#   agtpd doctor --config ${SERVER_FILE}      what a careful operator would look at

[server]
server_id = ${quoted(serverId)}
operator = ${quoted(operator)}
${reach}
host = "127.0.0.1"              # loopback only; beyond it, [tls] and [policies.identity] must agree
port = ${port}
on_invalid = "skip"             # a bad endpoint, recipe or agent: serve the rest | "fail": do not start

[tls]
# Without a certificate of your own, one for loopback is made at the first start, under .agtp/tls.
# cert = "tls/cert.pem"
# key = "tls/key.pem"
# client_auth = "required"      # ask agents for certificates; "agtp-keys agent-ca" makes a CA for them
# client_ca = "tls/agents-ca.pem"

[catalog]
file = "catalog/methods.json"   # the approved methods; agtp-catalog-diff says what a newer one breaks

${handlers === "python" ? PYTHON_PROCESS : ""}[policies]
scope_required_for_invocation = true   # an endpoint needs a scope that the caller claims or holds
anonymous_discovery = true             # false: DISCOVER needs an Agent-ID, too

[policies.identity]
unknown_agents = "reject"       # only agents with a document under agents/ get in
assurance = "header"            # beyond loopback: "certificate", so that nobody can claim to be another

[policies.rcns]
enabled = false                 # true: an unknown pair may be negotiated at run time, by recipes/

[signing]
key = "${SIGNING_KEY}"  # signs records, the manifest and Geneses; keep a copy of it

[store]
driver = "sqlite"
path = ".agtp/state.db"         # contracts, sessions and where each chain of records ends
`;
}

/** The text of agtp-server.toml with the tables of a translated configuration. */
export function translatedServerFile(
  { serverId, operator, contact, port }: Answers,
  tables: JsonRecord,
): string {
  const { server = {}, ...others } = tables;
  const named = { server_id: literalText(serverId), operator: literalText(operator) };
  const reach = contact === undefined ? {} : { contact: literalText(contact) };
  const text = writeToml({
    server: { ...named, ...reach, ...(server as JsonRecord), host: "127.0.0.1", port },
    ...others,
    signing: { key: SIGNING_KEY },
  });
  return `# ${serverId}: translated from a configuration of the reference implementation.
# Every key that there is, with its default and its meaning, is in the agtp-server.toml that comes with
# agtpd; "agtpd --check" says what is wrong with this one.

${text}`;
}

/** Quotes a text without control characters as a basic string of TOML. */
function quoted(text: string): string {
  return JSON.stringify(literalText(text));
}

export const SAMPLE_SCOPE = "items:read";

/** The first endpoint's handler by language: its place in words, and its reference. */
const HANDLERS: Readonly<Record<HandlerLanguage, readonly [string, string]>> = {
  javascript: ["endpoints/items.mjs", "endpoints.items.query_item"],
  python: ["handlers/items.py, in Python", "items:query_item"],
};

/** endpoints/query-item.toml */
export function endpointFile(language: HandlerLanguage): string {
  const [place, reference] = HANDLERS[language];
  return `# An endpoint: one method on one path, what it means, what it takes and gives, and who answers.
# Every *.toml below endpoints/ is one. "agtpd --check" says what is wrong with it.

[endpoint]
method = "QUERY"                 # a method of the catalog: agtp agtp://localhost DISCOVER /methods
path = "/items/{item_id}"        # no method names in here; {item_id} is a field of the input
description = "Returns one item of the store, with its price and how many are left."
required_scopes = ["${SAMPLE_SCOPE}"]   # what a caller must hold
errors = ["item_unknown"]        # the errors that the handler may answer with, and no others

# How an agent that was never here finds out whether this is what it needs.
[endpoint.semantic]
intent = "Find out what an item costs and whether it is in stock."
actor = "agent"
outcome = "The item is returned; nothing changes."
capability = "retrieval"
confidence = 0.95
impact = "informational"         # informational | reversible | irreversible
is_idempotent = true

# JSON Schema 2020-12, written as TOML. What does not fit it never reaches the handler.
[endpoint.input_schema]
type = "object"
required = ["item_id"]
additionalProperties = false
[endpoint.input_schema.properties.item_id]
type = "string"
pattern = "^[a-z]{1,32}$"

[endpoint.output_schema]
type = "object"
required = ["item_id", "price", "currency", "in_stock"]
[endpoint.output_schema.properties]
item_id = { type = "string" }
price = { type = "number" }
currency = { type = "string" }
in_stock = { type = "integer" }

# The function query_item of ${place}. The other two types are "composition", which runs
# a recipe, and "external_service", which calls an HTTPS API.
[endpoint.handler]
type = "registered_function"
function = "${reference}"
`;
}

/** endpoints/items.mjs */
export const HANDLER_FILE: string = `/**
 * The handlers of the items. A handler is a plain function: it is given a call whose input fits the
 * endpoint's input schema, and answers with a body, or with an error that the endpoint declares.
 * TypeScript (.ts) loads as well, without a build step. A running daemon reads changes on SIGHUP.
 */

const ITEMS = new Map([
  ["tea", { price: 4.5, currency: "EUR", in_stock: 120 }],
  ["coffee", { price: 6.9, currency: "EUR", in_stock: 34 }],
  ["cocoa", { price: 5.2, currency: "EUR", in_stock: 0 }],
]);

/**
 * QUERY /items/{item_id}
 *
 * Besides input, a call has agentId, scopes, trustTier, taskId, headers, log, signal, and
 * dispatch(method, path, input) for asking another endpoint in the name of the same agent.
 *
 * @param {import("agtpd").Call} call
 */
export const query_item = ({ input, log }) => {
  const item = ITEMS.get(input.item_id);
  if (item === undefined) {
    log.info({ item_id: input.item_id }, "asked for an item that is unknown");
    return {
      error: "item_unknown",
      message: \`there is no item "\${input.item_id}"\`,
      details: { known: [...ITEMS.keys()] },
    };
  }
  return { body: { item_id: input.item_id, ...item } };
};
`;

/** handlers/items.py */
export const PYTHON_HANDLER_FILE: string = `"""The handlers of the items: functions that agtpd calls, served by the process "items".

A handler is given a call, and out of its input what it names as parameters. It returns the body, or
raises an error that the endpoint declares. A running daemon reads changes on SIGHUP.
"""

from agtp_handlers import AgtpError, handler, run

ITEMS = {
    "tea": {"price": 4.5, "currency": "EUR", "in_stock": 120},
    "coffee": {"price": 6.9, "currency": "EUR", "in_stock": 34},
    "cocoa": {"price": 5.2, "currency": "EUR", "in_stock": 0},
}


@handler
def query_item(call, *, item_id: str):
    """QUERY /items/{item_id}

    Besides input, a call has agent, principal, method, path, deadline, cancelled, log, and
    dispatch(method, path, input) for asking another endpoint in the name of the same agent.
    """
    item = ITEMS.get(item_id)
    if item is None:
        call.log.info("asked for an item that is unknown", item_id=item_id)
        raise AgtpError("item_unknown", f'there is no item "{item_id}"', {"known": list(ITEMS)})
    return {"item_id": item_id, **item}


if __name__ == "__main__":
    run()
`;

/** recipes/compare-items.toml */
export const RECIPE_FILE: string = `# A recipe: how something that is not registered is composed of what is. An agent that proposes
# COMPARE /items (PROPOSE), or that negotiates it at run time ([policies.rcns]), gets a contract for
# it by this recipe. An endpoint binds it for everybody: handler type "composition".

[[recipe]]
name = "compare-items"
version = "1"                    # raise it with every change; contracts keep the one they were made from
description = "Compare two items: look both up and return them side by side."
required_scopes = ["${SAMPLE_SCOPE}"]   # never less than what the steps ask for

[recipe.pattern]                 # what is proposed must match all of this
method_exact = "COMPARE"
path_exact = "/items"
has_parameters = ["left", "right"]

[[recipe.steps]]
method = "QUERY"
path = "/items/{item_id}"
capture_as = "left"
[recipe.steps.parameters]        # kind: proposal (the caller's input) | previous_step | constant
item_id = { kind = "proposal", value = "left" }

[[recipe.steps]]
method = "QUERY"
path = "/items/{item_id}"
capture_as = "right"
[recipe.steps.parameters]
item_id = { kind = "proposal", value = "right" }

[recipe.aggregation]
mode = "list"                    # { "results": [...] }; or "merge", or "last"
`;

/** .gitignore */
export const IGNORE_FILE: string = `# What the daemon keeps: keys, the TLS certificate of the first start, state and journal. Back it up,
# and never put it under version control.
.agtp/

# Secrets that operators put beside the configuration.
.env
*.key
tls/*key*.pem

# Logs, and what Python keeps of modules.
*.log
__pycache__/
`;
