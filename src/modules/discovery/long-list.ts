/**
 * The long members of the manifest, its endpoints and agents, in both of its forms: made once, and
 * from then on shared by every variant. A variant may have more of them.   AGTP-API §8.5, §10.8
 */
import { type Pieces, PieceWriter } from "../../base/octet-pieces.ts";
import type { Paced } from "../../base/paced.ts";
import { canonicalText } from "../../identity/canonical-form.ts";

/** The form in which a document is written: as it is sent, or as it is hashed and signed. */
type Form = "plain" | "canonical";

/** Items in both forms, without the brackets around them. */
export type EncodedItems = Readonly<Record<Form, Pieces>>;

/** A member of a document, in any number of parts. */
export class LongList {
  readonly parts: readonly EncodedItems[];

  constructor(...parts: readonly EncodedItems[]) {
    this.parts = parts.filter(({ plain }) => plain.length > 0);
  }
}

/** Encodes what is shown of each item, an item a step. */
export function* encodingItems<T>(
  items: Iterable<T>,
  show: (item: T) => object,
): Paced<EncodedItems> {
  const plain = new PieceWriter();
  const canonical = new PieceWriter();
  let before = "";
  for (const item of items) {
    const shown = show(item);
    plain.add(before + JSON.stringify(shown));
    canonical.add(before + canonicalText(shown));
    before = ",";
    yield;
  }
  return { plain: plain.end(), canonical: canonical.end() };
}

/** The octets of a document with such members, in pieces, without its last brace. */
export function layOut(document: Readonly<Record<string, unknown>>, form: Form): Pieces {
  const names = Object.keys(document);
  if (form === "canonical") names.sort();
  const pieces: Uint8Array[] = [];
  let before = "{";
  for (const name of names) {
    const value = document[name];
    if (value === undefined) continue;
    pieces.push(Buffer.from(`${before}${JSON.stringify(name)}:`));
    if (value instanceof LongList) pieces.push(...bracketed(value, form));
    else pieces.push(Buffer.from(form === "plain" ? JSON.stringify(value) : canonicalText(value)));
    before = ",";
  }
  return pieces;
}

function bracketed({ parts }: LongList, form: Form): Pieces {
  const pieces: Uint8Array[] = [Buffer.from("[")];
  for (const [index, part] of parts.entries()) {
    if (index > 0) pieces.push(Buffer.from(","));
    pieces.push(...part[form]);
  }
  return [...pieces, Buffer.from("]")];
}
