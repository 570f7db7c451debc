/** `[[apis]]` and `[[hosted_protocols]]`: entries that the operator lists besides its endpoints. */
import {
  agtpPath,
  list,
  methodName,
  optional,
  type Schema,
  table,
  text,
  webUrl,
} from "../../schema/section-field.ts";

/** An entry of `[[apis]]`, as written. */
export interface ApiEntry {
  readonly name: string;
  readonly description?: string;
  readonly base_url?: string;
  readonly http_documentation?: string;
}

/** An entry of `[[hosted_protocols]]`. */
export interface HostedProtocolEntry {
  readonly protocol: string;
  readonly method: string;
  readonly path: string;
}

/** The schema of `[[apis]]`. */
export const apisSection: Schema = list(
  table(
    "An HTTP API beside this server",
    {
      name: optional(text("", "Its name")),
      description: optional(text("", "What it is")),
      base_url: optional(webUrl("Where it is")),
      http_documentation: optional(webUrl("Where it is documented")),
    },
    ["name"],
  ),
  "HTTP APIs listed by DISCOVER /apis and in the manifest",
);

/** The schema of `[[hosted_protocols]]`. */
export const hostedProtocolsSection: Schema = list(
  table(
    "A protocol spoken through an endpoint",
    {
      protocol: optional(text("", "Its name")),
      method: optional(methodName("The endpoint's method")),
      path: optional(agtpPath("The endpoint's path")),
    },
    ["protocol", "method", "path"],
  ),
  "Protocols spoken through endpoints, listed in the manifest",
);
