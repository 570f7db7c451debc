/**
 * The endpoints as synthesis looks at them: what they take and give by name and kind, and which
 * output can be which input. Properties of one name and one kind are the same to it, so ten
 * thousand endpoints have few of them.
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

/** A property that endpoints take. */
export interface Input extends DistinctProperty {
  readonly id: number;
  /** The endpoints that require it. */
  readonly takers: readonly IndexedEndpoint[];
  /** The outputs that can be it. */
  readonly sources: ReadonlySet<Output>;
}

/** A property that endpoints give. */
export interface Output extends DistinctProperty {
  readonly id: number;
  /** The endpoints whose every answer has it. */
  readonly givers: readonly IndexedEndpoint[];
  /** The endpoints whose answers may lack it. */
  readonly occasional: readonly IndexedEndpoint[];
  /** The inputs that it can be. */
  readonly sinks: readonly Input[];
}

/** An endpoint as a step. */
export interface IndexedEndpoint {
  /** The place of the endpoint by method, then path. */
  readonly index: number;
  /** A number that endpoints share which take and give the same, with the same impact. */
  readonly likeness: number;
  readonly definition: EndpointDefinition;
  readonly impact: Impact;
  readonly required: readonly Input[];
  readonly optional: readonly Input[];
  /** The parts that every answer has. */
  readonly outputs: readonly Output[];
  /** The parts that some answers have. */
  readonly occasional: readonly Output[];
  /** The inputs that every answer can be, of which none is there twice. */
  readonly feeds: readonly Input[];
  /** The reason why no plan may count on the endpoint. */
  readonly fault: string | undefined;
}

/** The endpoints in their order, and the properties by name. */
export interface EndpointIndex {
  readonly endpoints: readonly IndexedEndpoint[];
  readonly byMethod: ReadonlyMap<string, readonly IndexedEndpoint[]>;
  /** The number of inputs that each endpoint requires, by place. */
  readonly requiredCounts: Int32Array;
  /** The impact of each endpoint that every agent may use, by place; -1 for others. */
  readonly openImpacts: Int8Array;
  /** The endpoints that require nothing. */
  readonly undemanding: readonly IndexedEndpoint[];
  readonly inputCount: number;
  readonly inputs: Pick<SpreadMap<readonly Input[]>, "get">;
  readonly outputs: Pick<SpreadMap<readonly Output[]>, "get">;
}

/** The subject of what a log says about an endpoint. */
export function subjectOf({ definition: { method, path } }: IndexedEndpoint): LogSubject {
  return { method, path };
}

/** The order by method, then path: the same on every machine. */
export function comparePairs(a: EndpointDefinition, b: EndpointDefinition): number {
  return compareTexts(a.method, b.method) || compareTexts(a.path, b.path);
}

/** By the first place in which two lists of numbers differ. */
export function compareNumbers(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** The order of texts by their code units. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** A property: its name, and the kind of its values; undefined: it could not be worked out. */
interface Property {
  readonly name: string;
  readonly kind: SchemaKind | undefined;
}

/** A property of which a table has one entry. */
interface DistinctProperty extends Property {
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
