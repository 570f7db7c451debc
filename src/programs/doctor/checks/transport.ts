/** Ways in and out beside AGTP: plain HTTP, unsigned webhooks. */
import { exposedListeners } from "../../../app/config/listeners.ts";
import { isLoopbackHost } from "../../../base/addresses.ts";
import { isTable } from "../../../base/toml-document.ts";
import { type Check, type Observation, type Subject, settingCheck } from "../check.ts";

/** In the order in which they are asked. */
export const TRANSPORT_CHECKS: readonly Check[] = [
  // Plain HTTP can be read by others, and changed on its way.
  {
    id: "plain-http",
    asks: "is anything said or served without TLS?",
    look: (subject) => [
      ...namedUrls(subject).flatMap(({ key, url }) => judgeUrl(subject.configFile, key, url)),
      ...judgeServed(subject),
    ],
  },
  // Agents of others may be called without TLS.
  {
    id: "allow-http",
    asks: "are agents of others called over TLS?",
    look: ({ config: { agntcy }, configFile }) =>
      agntcy.flatMap(({ allowHttp }, index) =>
        allowHttp
          ? [
              {
                severity: "warning",
                file: configFile,
                key: `agntcy[${index}].allow_http`,
                message: "is true: tasks and credentials go to the upstream in plain HTTP",
                hint: "give the upstream a certificate, and delete the line",
              },
            ]
          : [],
      ),
  },
  // Receivers of webhooks cannot tell where they come from.
  settingCheck(
    "webhook-secret",
    "are webhooks signed?",
    "webhooks.secret",
    ({ config: { webhooks } }) => {
      const { escalations, recipients, secret } = webhooks;
      const count = Object.keys(recipients).length + (escalations === undefined ? 0 : 1);
      if (count === 0 || secret !== undefined) return undefined;
      const named = `${count} webhook${count === 1 ? "" : "s"}`;
      return {
        message: `is missing: nobody can tell the ${named} from a forgery`,
        hint: `write "\${WEBHOOK_SECRET}", set it, and have receivers check AGTP-Signature`,
      };
    },
  ),
];

function namedUrls({ config }: Subject) {
  const { webhooks, apis, policies, openwop, gateway } = config;
  const runtime = openwop["runtime"];
  return [
    { key: "webhooks.escalations", url: webhooks.escalations },
    ...Object.entries(webhooks.recipients).map(([name, url]) => {
      return { key: `webhooks.recipients.${name}`, url };
    }),
    ...apis.map(({ base_url: url }, index) => ({ key: `apis[${index}].base_url`, url })),
    { key: "gateway.base_url", url: gateway.baseUrl },
    ...gateway.corsOrigins.map((url, index) => ({ key: `gateway.cors_origins[${index}]`, url })),
    { key: "policies.oauth.jwks_uri", url: policies.oauth?.jwksUri },
    { key: "openwop.runtime.base_url", url: isTable(runtime) ? runtime["base_url"] : undefined },
  ];
}

/** Not quoted: what a URL has beside its host may be a secret. */
function judgeUrl(file: string, key: string, url: unknown): readonly Observation[] {
  if (typeof url !== "string" || !URL.canParse(url)) return [];
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:") return [];
  if (isLoopbackHost(hostname.replace(/^\[|\]$/g, ""))) {
    const message = "is plain http to this machine, whose other users may listen on that port";
    const hint = "use https where the other side can";
    return [{ severity: "note", file, key, message, hint }];
  }
  const message = `is plain http to ${hostname}: it can be read and changed on its way`;
  return [{ severity: "warning", file, key, message, hint: "use https" }];
}

function judgeServed({ config, configFile: file }: Subject) {
  const { gateway, metrics } = config;
  const observations: Observation[] = [];
  const exposed = new Set(exposedListeners(config, "anything").map(({ key }) => key));
  if (exposed.has("gateway") && gateway.cert === undefined) {
    const message = `is true: "${gateway.host}" is served in plain HTTP, bearer tokens and all`;
    const hint = "make sure that nobody but a proxy with TLS reaches it, or give it a certificate";
    const key = "gateway.allow_plain_http";
    observations.push({ severity: "warning", file, key, message, hint });
  }
  if (exposed.has("metrics")) {
    const message = `is "${metrics.host}": metrics are served to everybody there, in plain HTTP`;
    const hint = "keep it on loopback, and fetch it through a proxy that asks who is there";
    observations.push({ severity: "warning", file, key: "metrics.host", message, hint });
  }
  return observations;
}
