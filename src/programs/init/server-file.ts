/** The configuration of a new deployment: what was answered, and what an operator looks for first. */
import { literalText } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { writeToml } from "../../openapi/write-toml.ts";
import type { Answers } from "./answers.ts";

/** Its name in the deployment. */
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

/** The text of agtp-server.toml with a translated configuration's tables. */
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

/** A basic string of TOML that means the text; it has no control characters. */
function quoted(text: string): string {
  return JSON.stringify(literalText(text));
}
