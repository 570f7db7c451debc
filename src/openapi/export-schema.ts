/**
 * The schemas of endpoints in an OpenAPI document. Their references are relative to their own root,
 * which moves: each referenced definition becomes a component, shared by endpoints that have the
 * same definition under the same name.   AGTP-API §14.2
 */
import { unescapeToken } from "../base/dotted-key.ts";
import { isRecord, recordIn } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { relocateSchema, resolveLocalReference } from "../schema/local-reference.ts";
import { referencesIn } from "./schema-graph.ts";
import { UniqueNames } from "./words.ts";

export class SchemaComponents {
  readonly #schemas = new Map<string, JsonSchema>();
  readonly #names = new UniqueNames("_");
  /** Component names, by the content of a definition and of everything it needs. */
  readonly #known = new Map<string, string>();

  get schemas(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(this.#schemas);
  }

  /** Returns a function that rewrites the schemas inside a root; `name` is for a root that refers to itself. */
  adopt(root: JsonSchema, name: string): (schema: JsonSchema) => JsonSchema {
    const definitions = recordIn(root["$defs"]);
    const components = new Map<string, string>();
    let self: string | undefined;
    const locate = (reference: string): string => {
      const { key, rest } = splitPointer(reference, root);
      if (key !== undefined) return `#/components/schemas/${components.get(key) ?? key}${rest}`;
      // Named before it is rewritten, because it refers to itself.
      if (self === undefined) {
        self = this.#names.take(name);
        this.#schemas.set(self, {});
        this.#schemas.set(self, rewriteSchema(root, locate));
      }
      return `#/components/schemas/${self}${rest}`;
    };
    const fresh = Object.keys(definitions).filter((key) => {
      const identity = identityOf(key, root, definitions);
      const known = identity === undefined ? undefined : this.#known.get(identity);
      const component = known ?? this.#names.take(key.replace(/[^A-Za-z0-9._-]/g, "_") || "schema");
      if (identity !== undefined) this.#known.set(identity, component);
      components.set(key, component);
      return known === undefined;
    });
    for (const key of fresh) {
      const definition = definitions[key];
      const rewritten = isRecord(definition) ? rewriteSchema(definition, locate) : {};
      this.#schemas.set(components.get(key) ?? key, rewritten);
    }
    return (schema) => rewriteSchema(schema, locate);
  }
}

type Definitions = Readonly<Record<string, unknown>>;

/** Splits a reference into its definition and the rest of the pointer. */
function splitPointer(
  reference: string,
  root: JsonSchema,
): { readonly key?: string; readonly rest: string } {
  const fragment = reference.slice(1);
  if (fragment !== "" && !fragment.startsWith("/")) {
    const target = resolveLocalReference(reference, root);
    const named = Object.entries(recordIn(root["$defs"])).find(([, schema]) => schema === target);
    return named === undefined ? { rest: "" } : { key: named[0], rest: "" };
  }
  const [, token, rest = ""] = /^\/\$defs\/([^/]*)(\/.*)?$/.exec(fragment) ?? [];
  if (token === undefined) return { rest: fragment };
  return {
    key: unescapeToken(decodePart(token) ?? token),
    rest,
  };
}

/** The content of a definition with all that it needs; undefined if it needs its root. */
function identityOf(key: string, root: JsonSchema, definitions: Definitions): string | undefined {
  const needed = new Set([key]);
  // The loop also visits entries that it adds.
  for (const name of needed) {
    for (const reference of referencesIn(definitions[name])) {
      const { key: next } = splitPointer(reference, root);
      if (next === undefined) return undefined;
      needed.add(next);
    }
  }
  const parts = [...needed].toSorted().map((name) => [name, definitions[name]]);
  return JSON.stringify([key, parts]);
}

type Locate = (reference: string) => string;

/** Keywords that are valid at the root only, or whose content has moved. */
const ROOT_KEYWORDS: ReadonlySet<string> = new Set(["$schema", "$id", "$defs", "$anchor"]);

/** Redirects references by `locate`, and removes root-only keywords. */
export function rewriteSchema(schema: JsonSchema, locate: Locate): JsonSchema {
  return relocateSchema(schema, locate, ROOT_KEYWORDS);
}
