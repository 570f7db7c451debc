/**
 * Texts with named places in them, `{name}`: paths of endpoints, URLs of upstreams, paths of OpenAPI.
 * A name has no slash and no brace in it; which names are legal, the readers of each text decide.
 */

const PLACE = /\{([^{}/]+)\}/g;
const PLACE_SPLIT = /(\{[^{}/]+\})/;

/** A part of a template: text as it stands, or a place for a value. */
export type TemplatePiece =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string };

/** A template taken apart; a brace that belongs to no place is text. */
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

/** The names in a template, in order, as often as they occur. */
export function templateNames(template: string): string[] {
  if (!template.includes("{")) return [];
  return [...template.matchAll(PLACE)].map(([, name = ""]) => name);
}

/** The template with a text in each place; undefined leaves the place as it is. */
export function fillTemplate(
  template: string,
  valueFor: (name: string) => string | undefined,
): string {
  return template.replace(PLACE, (place, name: string) => valueFor(name) ?? place);
}

/** The template without the names of its places: equal for those that match the same. */
export function templateShape(template: string): string {
  return fillTemplate(template, () => "{}");
}
