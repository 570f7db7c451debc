/**
 * The endpoints of a server as an OpenAPI 3.1 document, for HTTP clients of its sidecar. The document
 * is derived: it says so, and where the manifest is that it was derived from.   AGTP-API §14.2
 */

import type { JsonRecord } from "../base/json-value.ts";
import { templateShape } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { checkReservation } from "../endpoint/reserved-endpoints.ts";
import { exportOperation } from "./export-operation.ts";
import { SchemaComponents } from "./export-schema.ts";
import type { ExportedEndpoint } from "./exported-endpoint.ts";
import { DERIVED_FROM } from "./extension.ts";
import { type HttpAliases, type HttpForm, httpForm } from "./http-form.ts";
import { snake, UniqueNames } from "./words.ts";

/** The source of a document. */
export interface ExportSource {
  /** Everything that is served; what belongs to the protocol itself is left out. */
  readonly endpoints: readonly ExportedEndpoint[];
  readonly serverId: string;
  readonly operator?: string;
  /** Of the manifest; it changes with what is served. */
  readonly documentVersion?: string;
  readonly catalog: Catalog;
  /** The URI of the server that the manifest is from: `agtp://agents.acme.example`. */
  readonly manifestUri: string;
  /** The URL of the sidecar; undefined: the document says nothing of servers. */
  readonly baseUrl?: string;
  readonly aliases: HttpAliases;
}

/** The document. The same source always makes the same one. */
export function exportOpenapi(source: ExportSource): JsonRecord {
  const components = new SchemaComponents();
  const paths = exportPaths(source, components);
  const { documentVersion, baseUrl } = source;
  return {
    openapi: "3.1.0",
    info: infoOf(source),
    ...(baseUrl === undefined ? {} : { servers: [{ url: baseUrl }] }),
    externalDocs: { description: "The manifest", url: source.manifestUri },
    paths,
    components: { schemas: components.schemas, responses: { Refusal: REFUSAL } },
    [DERIVED_FROM]: {
      manifest: source.manifestUri,
      server_id: source.serverId,
      catalog_version: source.catalog.version,
      ...(documentVersion === undefined ? {} : { document_version: documentVersion }),
    },
  };
}

const REFUSAL: JsonRecord = {
  description: "The request is refused, or could not be served.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["error"],
        properties: {
          error: {
            type: "object",
            required: ["code", "message"],
            properties: { code: { type: "string" }, message: { type: "string" } },
          },
        },
      },
    },
  },
};

function infoOf({ serverId, operator, documentVersion, manifestUri }: ExportSource): JsonRecord {
  const whose = operator === undefined ? "" : ` of ${operator}`;
  return {
    title: serverId,
    version: documentVersion ?? "1.0.0",
    description:
      `The HTTP form of the AGTP endpoints${whose}. Derived from the manifest at ` +
      `[${manifestUri}](${manifestUri}), which is authoritative.`,
    "x-agtp-manifest": manifestUri,
  };
}

function exportPaths(source: ExportSource, components: SchemaComponents): JsonRecord {
  const paths = new Map<string, Record<string, JsonRecord>>();
  const spellings = new Map<string, string>();
  const ids = new UniqueNames("_");
  for (const endpoint of source.endpoints) {
    const { method, path } = endpoint;
    if (checkReservation(method, path, source.catalog.embedded) !== undefined) continue;
    const form = httpForm(endpoint, source.aliases, source.catalog);
    // Paths that differ in the names of parameters only are one path in OpenAPI.
    const shape = templateShape(form.path);
    const spelling = spellings.get(shape) ?? form.path;
    spellings.set(shape, spelling);
    const item = paths.get(spelling) ?? {};
    paths.set(spelling, item);
    if (item[form.method] !== undefined) continue;
    const operationId = ids.take(snake(`${method} ${path.replaceAll("{", "by ")}`));
    const place = { form, path: spelling, operationId };
    item[form.method] = exportOperation(endpoint, place, components);
  }
  return Object.fromEntries([...paths].map(([path, item]) => [path, sortItem(item)]));
}

const METHOD_ORDER: readonly HttpForm["method"][] = ["get", "post", "put", "patch", "delete"];

function sortItem(item: Readonly<Record<string, JsonRecord>>): JsonRecord {
  const known = METHOD_ORDER.filter((method) => item[method] !== undefined);
  return Object.fromEntries(known.map((method) => [method, item[method]]));
}
