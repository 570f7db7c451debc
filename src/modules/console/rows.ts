/** Answers with lists of any length: made and encoded a row a step, with everybody else's turn in between. */
import { inSlices, type Paced } from "../../base/paced.ts";

/** The rows of a list, which are made when the answer is encoded. */
export class Rows<T> {
  readonly #items: readonly T[];
  readonly #viewOf: (item: T) => object;

  /** `items` is the caller's no more. */
  constructor(items: readonly T[], viewOf: (item: T) => object) {
    this.#items = items;
    this.#viewOf = viewOf;
  }

  *encoding(): Paced<string> {
    const encoded: string[] = [];
    for (const item of this.#items) {
      encoded.push(JSON.stringify(this.#viewOf(item)));
      yield;
    }
    return `[${encoded.join(",")}]`;
  }
}

/** The JSON of an answer whose members may be rows. */
export function encodeAnswer(answer: object): Promise<string> {
  return inSlices(encodingAnswer(answer));
}

function* encodingAnswer(answer: object): Paced<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    const json = value instanceof Rows ? yield* value.encoding() : JSON.stringify(value);
    if (json !== undefined) members.push(`${JSON.stringify(name)}:${json}`);
    yield;
  }
  return `{${members.join(",")}}`;
}
