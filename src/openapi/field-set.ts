/**
 * The fields of an input while it is put together: each has a name of its own, wherever its value
 * goes upstream. A name that is taken gets the place in front, then a number.
 */
import type { JsonSchema } from "../schema/json-schema.ts";
import { freeName } from "./endpoint-path.ts";

/** One field. */
interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** Fields by name, in the order in which they came. */
export class FieldSet {
  readonly #fields = new Map<string, Field>();
  #rules: JsonSchema = {};

  /** Adds a field; answers with its name. */
  add(wanted: string, place: string, field: Omit<Field, "name">): string {
    const taken = this.#fields;
    const name = taken.has(wanted) ? freeName(`${place}_${wanted}`, taken) : wanted;
    this.#fields.set(name, { ...field, name });
    return name;
  }

  /** Keywords about which fields go together. */
  setRules(rules: JsonSchema): void {
    this.#rules = rules;
  }

  get names(): readonly string[] {
    return [...this.#fields.keys()];
  }

  /** The closed object that they make. */
  toSchema(): JsonSchema {
    const fields = [...this.#fields.values()];
    const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    return {
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
      properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
      ...this.#rules,
    };
  }
}
