/** Responses with lists of any length: rows are built and encoded one per step, so that other work gets its turn. */
import { joining, PieceWriter } from "../../base/octet-pieces.ts";
import { inSlices, type Paced } from "../../base/paced.ts";

/** The rows of a list, built while the response is encoded. */
export class Rows<T> {
  readonly #items: Iterable<T>;
  readonly #viewOf: (item: T) => object;

  /** The caller must not use `items` afterwards. */
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

/** Encodes a response, whose members may be `Rows`, as JSON. */
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
