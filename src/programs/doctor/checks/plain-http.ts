/** What is said or served in plain HTTP, where others could read it, or change it on its way. */
import { exposedListeners } from "../../../app/config/listeners.ts";
import { isLoopbackHost } from "../../../base/loopback.ts";
import { isTable } from "../../../base/toml-document.ts";
import type { Check, Observation } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** The check `plain-http`. */
export const plainHttp: Check = {
  id: "plain-http",
  asks: "is anything said or served without TLS?",
  look: (subject) => [
    ...namedUrls(subject).flatMap(({ key, url }) => judgeUrl(subject.configFile, key, url)),
    ...judgeServed(subject),
  ],
};

interface NamedUrl {
  readonly key: string;
  readonly url: unknown;
}

function namedUrls({ config }: Subject): readonly NamedUrl[] {
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
    const remedy = "use https where the other side can";
    return [{ severity: "note", file, key, message, remedy }];
  }
  const message = `is plain http to ${hostname}: it can be read and changed on its way`;
  return [{ severity: "warning", file, key, message, remedy: "use https" }];
}

function judgeServed({ config, configFile: file }: Subject) {
  const { gateway, metrics } = config;
  const observations: Observation[] = [];
  const exposed = new Set(exposedListeners(config, "anything").map(({ key }) => key));
  if (exposed.has("gateway") && gateway.cert === undefined) {
    const message = `is true: "${gateway.host}" is served in plain HTTP, bearer tokens and all`;
    const remedy =
      "make sure that nobody but a proxy with TLS reaches it, or give it a certificate";
    const key = "gateway.allow_plain_http";
    observations.push({ severity: "warning", file, key, message, remedy });
  }
  if (exposed.has("metrics")) {
    const message = `is "${metrics.host}": metrics are served to everybody there, in plain HTTP`;
    const remedy = "keep it on loopback, and fetch it through a proxy that asks who is there";
    observations.push({ severity: "warning", file, key: "metrics.host", message, remedy });
  }
  return observations;
}
