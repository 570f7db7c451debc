/**
 * Checks of what is served: files that are passed over, guesses without a review, open endpoints;
 * and of access beside AGTP: plain HTTP, unsigned webhooks.
 */

import semver from "semver";
import { parseTOML } from "toml-eslint-parser";
import { exposedListeners } from "../../../app/config/listeners.ts";
import { isLoopbackHost } from "../../../base/addresses.ts";
import { readDeploymentFiles } from "../../../base/deployment-files.ts";
import { isError } from "../../../base/problem.ts";
import { loadCatalog, shippedCatalogPath } from "../../../catalog/catalog-file.ts";
import { type Check, nameOf, type Observation, type Subject, settingCheck } from "../check.ts";

/** The checks, in the order in which they run. */
export const SERVED_CHECKS: readonly Check[] = [
  // The daemon passes a file over, or does not start with it. Handlers are not loaded for this check.
  {
    id: "unserved-files",
    asks: "is everything that was written also served?",
    look: ({ problems, config }) => {
      const effect = config.server.onInvalid === "fail" ? "stops the start" : "is not served";
      return problems.filter(isError).map(({ file, key, message, hint }) => {
        const remedy =
          hint ?? "correct it; agtpd --check looks at it again, and loads the handlers";
        return { severity: "error", file, key, message: `${effect}: ${message}`, hint: remedy };
      });
    },
  },
  // Agents, tools, keys and workflows of OpenWOP refer to something that does not exist.
  {
    id: "openwop-names",
    asks: "do OpenWOP's packs, keys and workflows name what there is?",
    look: ({ openwop }) =>
      openwop.map((problem) => {
        const { file, key, message, hint } = problem;
        const remedy = hint ?? "correct the name, or install what it names";
        return {
          severity: isError(problem) ? "error" : "warning",
          file,
          key,
          message,
          hint: remedy,
        };
      }),
  },
  // Comments that begin with REVIEW wait for a person.
  {
    id: "review-marks",
    asks: "has somebody judged what was only guessed?",
    look: (subject) => [
      ...lookInto(subject, subject.config.endpoints.dir, "endpoints", true),
      ...lookInto(subject, subject.config.recipes.dir, "recipes", false),
    ],
  },
  // Endpoints that cannot be undone require no scope of their own.   AGTP-API §7.1
  {
    id: "open-endpoints",
    asks: "does what cannot be undone need a scope?",
    look: ({ endpoints }) =>
      endpoints.flatMap(({ file, method, path, semantic, requiredScopes }) => {
        if (semantic.impact !== "irreversible" || requiredScopes.length > 0) return [];
        const message = `${method} ${path} is irreversible, and any agent that is known may call it`;
        const hint = "give it required_scopes, and the scope to the agents that need it";
        return [{ severity: "warning", file, key: "endpoint.required_scopes", message, hint }];
      }),
  },
  // The deployment's catalog differs from the one that ships with the product.   AGTP-API §4.1
  {
    id: "catalog-version",
    asks: "is the catalog of methods the current one?",
    look: (subject) => {
      const { catalog, config } = subject;
      const path = shippedCatalogPath();
      const shipped = loadCatalog(path, path).catalog;
      const [own, current] = [semver.parse(catalog.version), semver.parse(shipped?.version)];
      if (own === null || current === null || semver.eq(own, current)) return [];
      const file = nameOf(subject, config.catalog.file);
      const place = { file, key: "version" };
      if (semver.gt(own, current)) {
        const message = `is ${own}, newer than ${current}, which this agtpd was made with`;
        const hint = "upgrade agtpd, which may know the new methods better";
        return [{ ...place, severity: "note", message, hint }];
      }
      const message = `is ${own}, older than ${current}, which came with this agtpd`;
      const hint = `agtp-catalog-diff ${file} ${path} --against-deployment . says what an upgrade breaks`;
      return [{ ...place, severity: "warning", message, hint }];
    },
  },
  // The interfaces for the public test suite are open.
  settingCheck(
    "conformance-mode",
    "are test seams closed?",
    "openwop.conformance",
    ({ config: { openwop } }) => {
      if (!openwop.conformance) return undefined;
      return {
        severity: "error",
        message: "is true: callers can make agents answer what they like",
        hint: "delete the line, and run the public suite against a server of its own",
      };
    },
  ),
  // Plain HTTP can be read and changed on its way.
  {
    id: "plain-http",
    asks: "is anything said or served without TLS?",
    look: (subject) => [
      ...namedUrls(subject).flatMap(({ key, url }) => judgeUrl(subject.configFile, key, url)),
      ...judgeServed(subject),
    ],
  },
  // Agents of other servers may be called without TLS.
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
  // Receivers of webhooks cannot verify the sender.
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

interface Mark {
  /** The line number, from 1. */
  readonly line: number;
  readonly text: string;
}

function lookInto(
  { config }: Subject,
  dir: string,
  defaultDir: string,
  recursive: boolean,
): readonly Observation[] {
  const place = { directory: config.directory, dir, defaultDir, suffix: ".toml", recursive };
  return readDeploymentFiles(place).files.flatMap(({ file, text }) => {
    const marks = findMarks(text);
    const [first] = marks;
    if (first === undefined) return [];
    const count = marks.length === 1 ? "a mark" : `${marks.length} marks`;
    const message = `has ${count} for review, the first on line ${first.line}: ${first.text}`;
    const hint = "judge what is marked, correct it, and delete the comment";
    return [{ severity: "warning", file, key: "", message, hint }];
  });
}

/** Only comments count: a description may contain the word REVIEW. */
function findMarks(text: string): readonly Mark[] {
  if (!/#\s*REVIEW\s*:/i.test(text)) return [];
  try {
    const { comments } = parseTOML(text, { tomlVersion: "1.1" });
    return comments.flatMap(({ value, loc }) => readMark(value, loc.start.line) ?? []);
  } catch {
    // An invalid TOML file is not served, but may still have marks.
    return text
      .split("\n")
      .flatMap((line, index) => readMark(/^\s*#(.*)/.exec(line)?.[1] ?? "", index + 1) ?? []);
  }
}

function readMark(comment: string, line: number): Mark | undefined {
  const said = /^\s*REVIEW\s*:\s*(.*)$/i.exec(comment)?.[1]?.trim();
  return said === undefined ? undefined : { line, text: JSON.stringify(said.slice(0, 120)) };
}

function namedUrls({ config }: Subject) {
  const { webhooks, apis, policies, openwop, gateway, mcp, tracing } = config;
  return [
    { key: "webhooks.escalations", url: webhooks.escalations },
    ...Object.entries(webhooks.recipients).map(([name, url]) => {
      return { key: `webhooks.recipients.${name}`, url };
    }),
    ...apis.map(({ base_url: url }, index) => ({ key: `apis[${index}].base_url`, url })),
    { key: "gateway.base_url", url: gateway.baseUrl },
    ...gateway.corsOrigins.map((url, index) => ({ key: `gateway.cors_origins[${index}]`, url })),
    { key: "policies.oauth.jwks_uri", url: policies.oauth?.jwksUri },
    { key: "openwop.runtime.base_url", url: openwop.runtime.baseUrl },
    ...mcp.servers.map(({ url }, index) => ({ key: `mcp.servers[${index}].url`, url })),
    { key: "tracing.endpoint", url: tracing.enabled ? tracing.endpoint : undefined },
  ];
}

/** Only the host is shown, because the rest of a URL may be a secret. */
function judgeUrl(file: string, key: string, url = ""): readonly Observation[] {
  if (!URL.canParse(url)) return [];
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
