/** Keys, certificates and secrets that something is wrong with. */
import { expect } from "vitest";
import { makeKey } from "../../../src/identity/certificate-writer.ts";
import {
  type Case,
  CONFIG,
  DAY_MS,
  makeServerCertificate,
  upstream,
  withCertificate,
} from "./case.ts";

export const keysCases: readonly Case[] = [
  {
    title: "a certificate that is over",
    id: "certificate-expiry",
    site: () => withCertificate(-1),
    found: { severity: "error", file: CONFIG, key: "tls.cert" },
  },
  {
    title: "a certificate that will be over in five days",
    id: "certificate-expiry",
    site: () => withCertificate(5),
    found: { severity: "warning", key: "tls.cert", message: expect.stringContaining("in 5 days") },
  },
  {
    title: "a certificate that has not begun",
    id: "certificate-expiry",
    site: async () => ({
      ...(await withCertificate(100)),
      machine: { now: Date.now() - 100 * DAY_MS },
    }),
    found: { severity: "error", message: expect.stringContaining("not valid before") },
  },
  {
    title: "a certificate of the daemon's own that is over",
    id: "certificate-expiry",
    site: async () => ({
      files: { ".agtp/tls/cert.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "warning", file: ".agtp/tls/cert.pem", key: "" },
  },
  {
    title: "an agent's certificate that agtp-keys keeps and that is over",
    id: "certificate-expiry",
    site: async () => ({
      files: { ".agtp/keys/n.cert.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "error", file: ".agtp/keys/n.cert.pem" },
  },
  {
    title: "an authority of traces that is over",
    id: "certificate-expiry",
    site: async () => ({
      tables: { tracing: { ca: "tls/traces-ca.pem" } },
      files: { "tls/traces-ca.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "error", file: CONFIG, key: "tracing.ca" },
  },
  {
    title: "an authority of an AGNTCY agent's server that is over",
    id: "certificate-expiry",
    site: async () => ({
      tables: { agntcy: [{ manifest: "mail.json", base: "/mail", ca: "tls/mail-ca.pem" }] },
      files: { "tls/mail-ca.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "error", file: CONFIG, key: "agntcy[0].ca" },
  },
  {
    title: "an authority of an MCP server that is over",
    id: "certificate-expiry",
    site: async () => ({
      tables: { mcp: { servers: [{ name: "a", url: "https://a.example", ca: "tls/mcp.pem" }] } },
      files: { "tls/mcp.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "error", file: CONFIG, key: "mcp.servers[0].ca" },
  },
  {
    title: "an authority of a model server that is over",
    id: "certificate-expiry",
    site: async () => ({
      tables: { openwop: { runtime: { ca: "tls/model-ca.pem" } } },
      files: { "tls/model-ca.pem": (await makeServerCertificate(-1)).cert },
    }),
    found: { severity: "error", file: CONFIG, key: "openwop.runtime.ca" },
  },
  {
    title: "a certificate for other names",
    id: "certificate-names",
    site: () => withCertificate(300, {}, ["other.example"]),
    found: { severity: "warning", key: "tls.cert" },
  },
  {
    title: "a key that is another certificate's",
    id: "certificate-key",
    site: async () => {
      const site = await withCertificate(300);
      return { ...site, files: { ...site.files, "tls/key.pem": makeKey("p256") } };
    },
    found: { severity: "error", key: "tls.key" },
  },
  {
    title: "a key of the console that is another certificate's",
    id: "certificate-key",
    site: async () => {
      const { cert } = await makeServerCertificate(300);
      const files = { "console/cert.pem": cert, "console/key.pem": makeKey("p256") };
      return { tables: { console: { cert: "console/cert.pem", key: "console/key.pem" } }, files };
    },
    found: { severity: "error", file: CONFIG, key: "console.key" },
  },
  {
    title: "a key of the console that everybody can read",
    id: "key-permissions",
    site: async () => {
      const { cert, key } = await makeServerCertificate(300);
      return {
        tables: { console: { cert: "console/cert.pem", key: "console/key.pem" } },
        files: { "console/cert.pem": cert, "console/key.pem": key },
        modes: { "console/key.pem": 0o644 },
      };
    },
    found: { severity: "error", file: CONFIG, key: "console.key" },
  },
  {
    title: "a TLS key that everybody can read",
    id: "key-permissions",
    site: () => withCertificate(300, { modes: { "tls/key.pem": 0o644 } }),
    found: { severity: "error", file: CONFIG, key: "tls.key" },
  },
  {
    title: "a TLS key that its group can read",
    id: "key-permissions",
    site: () => withCertificate(300, { modes: { "tls/key.pem": 0o640 } }),
    found: { severity: "warning", key: "tls.key" },
  },
  {
    title: "a signing key that its group can replace",
    id: "key-permissions",
    site: { modes: { ".agtp/keys/signing.pem": 0o620 } },
    found: { severity: "error", key: "signing.key" },
  },
  {
    title: "an agent's key that everybody can read",
    id: "key-permissions",
    site: {
      files: { ".agtp/keys/nora.pem": makeKey("ed25519") },
      modes: { ".agtp/keys/nora.pem": 0o604 },
    },
    found: { severity: "error", file: ".agtp/keys/nora.pem", key: "" },
  },
  {
    title: "a file of variables that everybody can read",
    id: "key-permissions",
    site: { files: { ".env": "TOKEN=a" }, modes: { ".env": 0o644 } },
    found: { severity: "error", file: ".env", key: "" },
  },
  {
    title: "a webhook secret that is written out",
    id: "secrets-in-files",
    site: { tables: { webhooks: { secret: "hunter2" } } },
    found: { severity: "warning", file: CONFIG, key: "webhooks.secret" },
  },
  {
    title: "a key of the model's API that is written out",
    id: "secrets-in-files",
    site: { tables: { openwop: { runtime: { api_key: "hunter2" } } } },
    found: { severity: "warning", key: "openwop.runtime.api_key" },
  },
  {
    title: "a header of the collector of traces that is written out",
    id: "secrets-in-files",
    site: { tables: { tracing: { headers: { "x-api-key": "hunter2" } } } },
    found: { severity: "warning", key: "tracing.headers.x-api-key" },
  },
  {
    title: "an Authorization header that is written out",
    id: "secrets-in-files",
    site: { files: upstream({ Authorization: "Bearer hunter2" }) },
    found: { file: "endpoints/facts.toml", key: "endpoint.handler.headers.Authorization" },
  },
];
