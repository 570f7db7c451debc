/** Notes of a conversion: parts that it left out or read in its own way, each said once. */

const MAX_NOTES = 200;

/** Notes for whoever reviews the result. */
export class Notes {
  readonly #messages = new Set<string>();

  add(message: string): void {
    if (this.#messages.size < MAX_NOTES) this.#messages.add(message);
  }

  get messages(): readonly string[] {
    return [...this.#messages];
  }
}
