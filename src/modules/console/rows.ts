/** Answers with lists of any length: made and encoded a row a step, with everybody else's turn in between. */
import { joining, PieceWriter } from "../../base/octet-pieces.ts";
import { inSlices, type Paced } from "../../base/paced.ts";

/** The rows of a list, which are made when the answer is encoded. */
export class Rows<T> {
  readonly #items: Iterable<T>;
  readonly #viewOf: (item: T) => object;

  /** `items` is the caller's no more. */
  constructor(items: Iterable<T>, viewOf: (item: T) => object) {
    this.#items = items;
    this.#viewOf = viewOf;
  }

  *writing(writer: PieceWriter): Paced<void> {
    let before = "[";
    for (const item of this.#items) {
      writer.add(before + JSON.stringify(this.#viewOf(item)));
      before = ",";
      yield;
    }
    writer.add(before === "[" ? "[]" : "]");
  }
}

/** The JSON of an answer whose members may be rows. */
export function encodeAnswer(answer: object): Promise<Buffer> {
  return inSlices(encodingAnswer(answer));
}

function* encodingAnswer(answer: object): Paced<Buffer> {
  const writer = new PieceWriter();
  let before = "{";
  for (const [name, value] of Object.entries(answer)) {
    const json = value instanceof Rows ? "" : JSON.stringify(value);
    if (json === undefined) continue;
    writer.add(`${before}${JSON.stringify(name)}:${json}`);
    before = ",";
    if (value instanceof Rows) yield* value.writing(writer);
    yield;
  }
  writer.add(before === "{" ? "{}" : "}");
  return yield* joining(writer.end());
}
