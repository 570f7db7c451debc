/**
 * Properties as plans compare them: a name and the kind of the values. A table holds each name and
 * kind once, whatever the schemas look like that describe them.
 */
import { SpreadMap } from "../../../base/spread-map.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import {
  kindOfSchema,
  type PropertySchema,
  type SchemaKind,
  type TypedValues,
} from "./schema-kind.ts";

/** A property: its name, and the kind of its values; undefined: it could not be worked out. */
interface Property {
  readonly name: string;
  readonly kind: SchemaKind | undefined;
}

/** A property of which a table has one entry. */
export interface DistinctProperty extends Property {
  /** The kind as a text, the same for the same kind. */
  readonly kindText: string;
}

/** A property as it is written in a schema. */
interface WrittenProperty {
  readonly name: string;
  readonly schema: PropertySchema;
  /** The schema that its references are into. */
  readonly root: JsonSchema;
}

/** The properties, each name and kind once. */
export class PropertyTable<E> {
  readonly byName: SpreadMap<E[]> = new SpreadMap();
  /** The names, in the order in which they came. */
  readonly names: string[] = [];
  readonly #create: (property: DistinctProperty, id: number) => E;
  readonly #known = new SpreadMap<E>();
  readonly #written = new SpreadMap<E>();

  constructor(create: (property: DistinctProperty, id: number) => E) {
    this.#create = create;
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * The entry of a property whose kind `adapt` may narrow, always in the way that `variant` names.
   */
  intern(
    { name, schema, root }: WrittenProperty,
    variant = "",
    adapt: (kind: SchemaKind) => SchemaKind = (kind) => kind,
  ): E {
    // Most schemas are a type and a format that thousands of properties share.
    const text = JSON.stringify([variant, name, schema]);
    const written = text.includes('"$ref"') ? undefined : this.#written.get(text);
    if (written !== undefined) return written;
    const read = kindOfSchema(schema, root);
    const kind = read && adapt(read);
    const entry = this.#entryFor(name, kind);
    if (!text.includes('"$ref"')) this.#written.set(text, entry);
    return entry;
  }

  #entryFor(name: string, kind: SchemaKind | undefined): E {
    const kindText = kind === undefined ? "?" : textOf(kind);
    const key = JSON.stringify([name, kindText]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const entry = this.#create({ name, kind, kindText }, this.#known.size);
    this.#known.set(key, entry);
    this.#enlist(name, entry);
    return entry;
  }

  #enlist(name: string, entry: E): void {
    const alike = this.byName.get(name);
    if (alike !== undefined) {
      alike.push(entry);
      return;
    }
    this.byName.set(name, [entry]);
    this.names.push(name);
  }
}

function textOf(kind: SchemaKind): string {
  const types = Array.from(kind, ([type, alternatives]): string =>
    JSON.stringify([type, alternatives.map(textOfValues).sort()]),
  );
  return types.sort().join();
}

function textOfValues({ formats, values }: TypedValues): string {
  return JSON.stringify([[...formats].sort(), values === undefined ? null : [...values].sort()]);
}
