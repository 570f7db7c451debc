/** The `agtp-server.toml` and the `.env.example` of an imported API. */
import { isIP } from "node:net";
import { literalValue } from "../base/environment.ts";
import type { HttpRedirect } from "./http-redirects.ts";
import type { ImportedDocument } from "./import-document.ts";
import type { Variable } from "./security.ts";
import { onOneLine } from "./words.ts";
import { writeToml } from "./write-toml.ts";

/** The path of the signing key, relative to the deployment. */
export const SIGNING_KEY = ".agtp/keys/signing.pem";

/** The configuration: what differs from the defaults, and nothing else. */
export function configText(imported: ImportedDocument, redirects: readonly HttpRedirect[]): string {
  const { title, version, description, documentation, baseUrls } = imported;
  const apis = baseUrls.map((url, index) => ({
    name: index === 0 ? title : `${title} (${index + 1})`,
    ...(description === "" ? {} : { description }),
    base_url: url,
    ...(documentation === undefined ? {} : { http_documentation: documentation }),
  }));
  const parts = [
    `# ${onOneLine(`${title} ${version}`)} for agents, drafted from its OpenAPI document.`,
    "# Before it serves: set the variables of .env.example, and go through REVIEW.md.",
    "",
    writeToml({ server: { server_id: serverId(baseUrls[0] ?? "") } }).trimEnd(),
    "",
    "# Signs records and the manifest, and the agents of agtp-keys genesis: secret, and kept a copy of.",
    writeToml({ signing: { key: SIGNING_KEY } }).trimEnd(),
    "",
    "# Listed by DISCOVER /apis and in the manifest.",
    writeToml(literalValue({ apis })).trimEnd(),
  ];
  if (redirects.length > 0) {
    parts.push(
      "",
      "# What HTTP clients of the sidecar ask for leads to the endpoint that does it.",
      ...redirects.flatMap((redirect) => [
        "[[policies.methods.redirects]]",
        writeToml(literalValue({ ...redirect })),
      ]),
    );
  }
  return `${parts.join("\n").trimEnd()}\n`;
}

/** `agents.` and the host's name; an address has none, and its operator may have a better one. */
function serverId(baseUrl: string): string {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const isName = /^[a-z0-9.-]+$/i.test(host) && isIP(host) === 0;
  return `agents.${isName ? host : "example"}`.slice(0, 253);
}

/** Variables with words in place of secrets, as shells read them. */
export function envText(variables: readonly Variable[]): string {
  const lines = variables.flatMap(({ name, purpose, sentTo }) => [
    `# ${onOneLine(`${purpose}; sent to ${sentTo.join(", ")}`)}`,
    `${name}=change-me`,
  ]);
  const head =
    variables.length === 0
      ? ["# The API asks for no credentials."]
      : ["# Copy this to .env, put the secrets in, and keep it out of version control."];
  return `${[...head, ...lines].join("\n")}\n`;
}
