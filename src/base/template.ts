/**
 * Texts with placeholders, `{name}`: endpoint paths, upstream URLs, OpenAPI paths. A name contains
 * no slash or brace; each reader decides which names are valid.
 */

const PLACE = /\{([^{}/]+)\}/g;
const PLACE_SPLIT = /(\{[^{}/]+\})/;

/** A part of a template: literal text, or a placeholder. */
export type TemplatePiece =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string };

/** Splits a template; a brace outside a placeholder is text. */
export function templatePieces(template: string): TemplatePiece[] {
  return template
    .split(PLACE_SPLIT)
    .filter((part) => part !== "")
    .map((part) =>
      PLACE_SPLIT.test(part)
        ? { kind: "parameter", name: part.slice(1, -1) }
        : { kind: "literal", text: part },
    );
}

/** Returns the names of the placeholders, in order and with repetitions. */
export function templateNames(template: string): string[] {
  if (!template.includes("{")) return [];
  return [...template.matchAll(PLACE)].map(([, name = ""]) => name);
}

/** Fills each placeholder; undefined leaves it unchanged. */
export function fillTemplate(
  template: string,
  valueFor: (name: string) => string | undefined,
): string {
  return template.replace(PLACE, (place, name: string) => valueFor(name) ?? place);
}

/** Returns a template without its names, equal for templates that match the same texts. */
export function templateShape(template: string): string {
  return fillTemplate(template, () => "{}");
}
