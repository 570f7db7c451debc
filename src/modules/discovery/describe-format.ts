/**
 * In which form an agent is described: `?format=` says so, else the best of what Accept lists, else
 * the form that the method has by default.   AGTP "URI Forms", RFC 9110 §12.5.1
 */

/** The capability document, or one of the forms of an agent's other documents. */
export type DescriptionForm = "capabilities" | "json" | "yaml" | "html" | "certificate" | "status";

const BY_NAME: ReadonlyMap<string, DescriptionForm> = new Map<string, DescriptionForm>([
  ["json", "json"],
  ["yaml", "yaml"],
  ["html", "html"],
  ["manifest", "html"],
  ["certificate", "certificate"],
  ["status", "status"],
]);

/** The values of `format`. */
export const FORMAT_NAMES: readonly string[] = [...BY_NAME.keys()];

/** The media type of an identity document, as JSON. */
export const IDENTITY_JSON = "application/vnd.agtp.identity+json";
/** The media type of an identity document, as YAML. */
export const IDENTITY_YAML = "application/vnd.agtp.identity+yaml";

const BY_TYPE: ReadonlyMap<string, DescriptionForm> = new Map<string, DescriptionForm>([
  [IDENTITY_JSON, "json"],
  [IDENTITY_YAML, "yaml"],
  ["application/yaml", "yaml"],
  ["text/yaml", "yaml"],
  ["text/html", "html"],
]);

/** Content with these is what the method answers by default. */
const UNSPECIFIC: ReadonlySet<string> = new Set([
  "*/*",
  "application/*",
  "application/json",
  "application/vnd.agtp+json",
]);

const MAX_RANGES = 64;
const WEIGHT = /;[ \t]*q=([01](?:\.\d{0,3})?)[ \t]*(?:;|$)/i;

/** The form that a request asks for; `usual` where it does not care. */
export function chooseForm(
  format: unknown,
  accept: string | undefined,
  usual: DescriptionForm,
): DescriptionForm {
  const named = typeof format === "string" ? BY_NAME.get(format) : undefined;
  if (named !== undefined) return named;
  let best = { form: usual, weight: 0 };
  for (const range of (accept ?? "").split(",", MAX_RANGES)) {
    const type = (range.split(";", 1)[0] ?? "").trim().toLowerCase();
    const form = UNSPECIFIC.has(type) ? usual : BY_TYPE.get(type);
    const weight = Number(WEIGHT.exec(range)?.[1] ?? 1);
    // Of equals the first one counts.
    if (form !== undefined && weight > best.weight) best = { form, weight };
  }
  return best.form;
}
