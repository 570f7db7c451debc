/**
 * Endpoints as synthesis sees them: inputs and outputs by name and kind, and which output fits which input. Properties
 * of equal name and kind are shared, so that even ten thousand endpoints have few.
 */
import { addUnder } from "../../../base/listed.ts";
import { SpreadMap } from "../../../base/spread-map.ts";
import type { EndpointDefinition, Impact } from "../../../endpoint/endpoint.ts";
import type { LogSubject } from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import {
  kindOfSchema,
  type PropertySchema,
  type SchemaKind,
  type TypedValues,
} from "./schema-kind.ts";

/** An input property of endpoints. */
export interface Input extends DistinctProperty {
  readonly id: number;
  /** The endpoints that require it. */
  readonly takers: readonly IndexedEndpoint[];
  /** The outputs that fit it. */
  readonly sources: ReadonlySet<Output>;
}

/** An output property of endpoints. */
export interface Output extends DistinctProperty {
  readonly id: number;
  /** The endpoints that always give it. */
  readonly givers: readonly IndexedEndpoint[];
  /** The endpoints that may omit it. */
  readonly occasional: readonly IndexedEndpoint[];
  /** The inputs that it fits. */
  readonly sinks: readonly Input[];
}

/** An indexed endpoint. */
export interface IndexedEndpoint {
  /** The position in the order of method, then path. */
  readonly index: number;
  /** A number shared by endpoints with the same inputs, outputs and impact. */
  readonly likeness: number;
  readonly definition: EndpointDefinition;
  readonly impact: Impact;
  readonly required: readonly Input[];
  readonly optional: readonly Input[];
  /** Members of every answer. */
  readonly outputs: readonly Output[];
  /** Members of some answers. */
  readonly occasional: readonly Output[];
  /** The inputs that every answer supplies, without duplicates. */
  readonly feeds: readonly Input[];
  /** The reason that plans must not use the endpoint. */
  readonly fault: string | undefined;
}

/** The endpoints in order, and the properties by name. */
export interface EndpointIndex {
  readonly endpoints: readonly IndexedEndpoint[];
  readonly byMethod: ReadonlyMap<string, readonly IndexedEndpoint[]>;
  /** The number of required inputs of each endpoint, by index. */
  readonly requiredCounts: Int32Array;
  /** The impact of each endpoint without required scopes, by index; -1 for the others. */
  readonly openImpacts: Int8Array;
  /** The endpoints without required inputs. */
  readonly undemanding: readonly IndexedEndpoint[];
  readonly inputCount: number;
  readonly inputs: Pick<SpreadMap<readonly Input[]>, "get">;
  readonly outputs: Pick<SpreadMap<readonly Output[]>, "get">;
}

/** The log's reference to an endpoint. */
export function subjectOf({ definition: { method, path } }: IndexedEndpoint): LogSubject {
  return { method, path };
}

/** Compares by method, then path, identically on every machine. */
export function comparePairs(a: EndpointDefinition, b: EndpointDefinition): number {
  return compareTexts(a.method, b.method) || compareTexts(a.path, b.path);
}

/** Compares by the first differing number. */
export function compareNumbers(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Compares texts by code units. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** A property's name and the kind of its values; undefined if it could not be determined. */
interface Property {
  readonly name: string;
  readonly kind: SchemaKind | undefined;
}

/** A property that has one table entry. */
interface DistinctProperty extends Property {
  /** A text that is equal for equal kinds. */
  readonly kindText: string;
}

/** A property as written in a schema. */
interface WrittenProperty {
  readonly name: string;
  readonly schema: PropertySchema;
  /** The schema that contains its references. */
  readonly root: JsonSchema;
}

/** A table of distinct properties by name and kind. */
export class PropertyTable<E> {
  readonly byName: SpreadMap<E[]> = new SpreadMap();
  /** The names in insertion order. */
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

  /** Returns the entry of a property; `adapt` may narrow its kind, always in the way that `variant` names. */
  intern(
    { name, schema, root }: WrittenProperty,
    variant = "",
    adapt: (kind: SchemaKind) => SchemaKind = (kind) => kind,
  ): E {
    // Most schemas are a type and a format, which thousands of properties share.
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
    if (this.byName.get(name) === undefined) this.names.push(name);
    addUnder(this.byName, name, entry);
    return entry;
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
