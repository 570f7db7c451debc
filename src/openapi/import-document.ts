/**
 * Converts a whole OpenAPI document to a deployment: an endpoint file for each operation, a
 * configuration, its variables and a list of points to review. Every endpoint file is read back;
 * one that this server could not serve is left out with a note.   AGTP-API §14.1
 */
import { isRecord, type JsonRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { templateShape } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import { UPSTREAM_METHODS } from "../endpoint/endpoint.ts";
import { assignPairs, type PairRules } from "./assign-pairs.ts";
import {
  type DraftedEndpoint,
  endpointText,
  findEndpointFault,
  type ImportContext,
  importOperation,
} from "./import-operation.ts";
import { type Operation, operationsOf, unsentOperations } from "./operations.ts";
import { References } from "./references.ts";
import { SchemaReader } from "./schema-reader.ts";
import { checkBaseUrl, findBaseUrl, readSchemes, type Variable } from "./servers-and-security.ts";
import { firstSentence, kebab, Notes, snake, UniqueNames } from "./words.ts";

export interface ImportedEndpoint extends DraftedEndpoint {
  /** Relative to the deployment directory. */
  readonly file: string;
  readonly text: string;
}

interface LeftOut {
  /** `GET /pets` */
  readonly operation: string;
  readonly reason: string;
}

/** The deployment made from a document, not yet written to disk. */
export interface ImportedDocument {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly documentation: string | undefined;
  readonly baseUrls: readonly string[];
  readonly endpoints: readonly ImportedEndpoint[];
  readonly leftOut: readonly LeftOut[];
  readonly variables: readonly Variable[];
  /** Notes on the document as a whole. */
  readonly notes: readonly string[];
}

interface ImportOptions {
  readonly catalog: Catalog;
  /** The document's references, if already collected. */
  readonly references?: References;
  /** Replaces the document's servers. */
  readonly baseUrl?: string;
  /** The CA file for the API's certificate, relative to the deployment. Default: the system's CAs. */
  readonly ca?: string;
  readonly onProgress?: (done: number, total: number) => void;
}

type ImportResult =
  | { readonly kind: "imported"; readonly imported: ImportedDocument }
  | { readonly kind: "fault"; readonly message: string };

/** The bound on operations, the size of an export of 10,000 endpoints, against hostile documents. */
const MAX_OPERATIONS = 10_000;
const UNSENT = `its HTTP method is none that an external service has: ${UPSTREAM_METHODS.join(", ")}`;
/** A version that fits in a header field. */
const VERSION = /^[\x21-\x3a\x3c-\x7e]{1,64}$/;

/** Imports a document that has passed `checkDocument`. */
export function importDocument(document: JsonRecord, options: ImportOptions): ImportResult {
  const operations = operationsOf(document);
  const unsent = unsentOperations(document);
  if (operations.length === 0) {
    const [first] = unsent;
    const which = first === undefined ? "" : ` but those like ${quoteValue(first)}: ${UNSENT}`;
    return { kind: "fault", message: `has no operations${which}` };
  }
  if (operations.length > MAX_OPERATIONS) {
    const message = `has ${operations.length} operations, expected at most ${MAX_OPERATIONS}`;
    return { kind: "fault", message };
  }
  const notes = new Notes();
  const bases = operations.map(({ servers }) =>
    options.baseUrl === undefined ? findBaseUrl(servers, notes) : checkBaseUrl(options.baseUrl),
  );
  const fault = bases.find((base) => base.fault !== undefined)?.fault;
  if (fault !== undefined) return { kind: "fault", message: fault };
  const baseUrls = bases.map(({ url = "" }) => url);
  const facts = factsOf(document);
  const context = makeContext(document, operations, options.catalog, facts);
  const made = importAll(operations, baseUrls, context, options);
  const schemaNotes = [...context.input.notes.messages, ...context.output.notes.messages];
  return {
    kind: "imported",
    imported: {
      ...facts,
      baseUrls: [...new Set(baseUrls)],
      endpoints: made.endpoints,
      leftOut: [
        ...made.leftOut,
        ...unsent.map((operation) => ({ operation, reason: UNSENT })).slice(0, MAX_OPERATIONS),
      ],
      variables: distinct(made.endpoints.flatMap(({ variables }) => variables)),
      notes: [...new Set([...notes.messages, ...schemaNotes, ...unusedParts(document)])],
    },
  };
}

type Facts = Pick<ImportedDocument, "title" | "version" | "description" | "documentation">;

function factsOf({ info, externalDocs }: JsonRecord): Facts {
  const { title, version, description } = recordIn(info);
  const url = recordIn(externalDocs)["url"];
  return {
    title: (typeof title === "string" && firstSentence(title, 80)) || "API",
    version: typeof version === "string" && VERSION.test(version) ? version : "1.0.0",
    description: typeof description === "string" ? firstSentence(description, 200) : "",
    documentation: typeof url === "string" && /^https?:\/\/\S+$/.test(url) ? url : undefined,
  };
}

function makeContext(
  document: JsonRecord,
  operations: readonly Operation[],
  catalog: Catalog,
  { title, version }: Facts,
): ImportContext {
  const removable = new Set(
    operations.filter(({ httpMethod }) => httpMethod === "DELETE").map(({ path }) => bare(path)),
  );
  return {
    ...{ document, catalog, version },
    names: methodNames(catalog, []),
    input: new SchemaReader(document, "input"),
    output: new SchemaReader(document, "output"),
    schemes: readSchemes(document, variablePrefix(title)),
    isUndone: ({ httpMethod, path }) => httpMethod === "POST" && removable.has(`${bare(path)}/{}`),
  };
}

/** The API's name from its title, without words like OpenAPI: `petstore`. */
function variablePrefix(title: string): string {
  const name = snake(title.replace(/\b(?:open\s?api|swagger|api|rest|v?\d+(?:\.\d+)*)\b/gi, " "));
  return (name || snake(title) || "api").slice(0, 40);
}

/** A path with the names of its parameters removed. */
function bare(path: string): string {
  return templateShape(path).replace(/\/$/, "");
}

function importAll(
  operations: readonly Operation[],
  baseUrls: readonly string[],
  context: ImportContext,
  { onProgress, ca, references = new References(context.document) }: ImportOptions,
): Pick<ImportedDocument, "endpoints" | "leftOut"> {
  const rules: PairRules = context;
  const pairs = assignPairs(operations, rules);
  const files = new UniqueNames("-");
  const endpoints: ImportedEndpoint[] = [];
  const leftOut: LeftOut[] = [];
  const source = `${factsOf(context.document).title} ${context.version}`;
  for (const [index, operation] of operations.entries()) {
    const pair = pairs[index];
    if (pair === undefined) continue;
    const draft = importOperation(operation, pair, baseUrls[index] ?? "", context);
    const text = endpointText(draft, source);
    const name = `${operation.httpMethod} ${operation.path}`;
    const fault =
      references.findFault(operation.needed) ??
      draft.fault ??
      findEndpointFault(text, draft, context);
    if (fault === undefined) {
      const file = `endpoints/${files.take(fileName(draft))}.toml`;
      const trusting = ca === undefined ? draft : withCa(draft, ca);
      const kept = ca === undefined ? text : endpointText(trusting, source);
      endpoints.push({ ...trusting, file, text: kept });
    } else leftOut.push({ operation: name, reason: fault });
    onProgress?.(index + 1, operations.length);
  }
  return { endpoints, leftOut };
}

/** Set after the endpoint was read back, because the file does not exist yet. */
function withCa(draft: DraftedEndpoint, ca: string): DraftedEndpoint {
  const { handler, ...others } = draft.table;
  return { ...draft, table: { ...others, handler: { ...(handler as JsonRecord), ca } } };
}

function fileName({ namespace, operation, method, path }: DraftedEndpoint): string {
  const name = kebab(operation.id ?? "") || kebab(`${method} ${path}`) || "endpoint";
  const folder = kebab(namespace ?? "");
  return folder === "" ? name : `${folder}/${name}`;
}

function distinct(variables: readonly Variable[]): readonly Variable[] {
  const byName = new Map<string, Variable>();
  for (const variable of variables) {
    const sentTo = [...(byName.get(variable.name)?.sentTo ?? []), ...variable.sentTo];
    byName.set(variable.name, { ...variable, sentTo: [...new Set(sentTo)] });
  }
  return [...byName.values()];
}

function unusedParts({ webhooks }: JsonRecord): readonly string[] {
  return isRecord(webhooks) ? ["webhooks are left out, they are calls of the API to you"] : [];
}
