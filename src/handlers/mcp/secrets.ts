/** The secrets that a server was given, taken out of whatever it says: it may say them again. */
import type { McpServerSettings } from "./read-settings.ts";

/** Shorter values are words that occur anywhere. */
const LEAST_LENGTH = 6;
const CONCEALED = "[secret]";

export class Secrets {
  readonly #values: readonly string[];

  constructor({ place }: Pick<McpServerSettings, "place">) {
    const values = place.kind === "http" ? [place.token ?? ""] : Object.values(place.env);
    this.#values = values
      .filter((value) => value.length >= LEAST_LENGTH)
      .sort((one, other) => other.length - one.length);
  }

  get isAny(): boolean {
    return this.#values.length > 0;
  }

  /** The text without them. */
  conceal(text: string): string {
    return this.#values.reduce((rest, value) => rest.replaceAll(value, CONCEALED), text);
  }

  /** Tells whether a JSON text holds one of them. */
  isIn(json: string): boolean {
    return this.#values.some((value) => json.includes(inJson(value)));
  }

  /** A JSON text without them; it stays JSON. */
  concealIn(json: string): string {
    return this.#values.reduce((rest, value) => rest.replaceAll(inJson(value), CONCEALED), json);
  }
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
