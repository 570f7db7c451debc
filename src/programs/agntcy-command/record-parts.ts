/**
 * Parts of a manifest under the names and in the forms of the newest published schema, whatever shape
 * they were written in: a record's readers hold addresses to being URLs, and know one name of each member.
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";

/** The items of an array in a document; none where there is no array. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A deployment option; none for one that is somewhere that only its own directory knows. */
export function optionPart(option: unknown): readonly JsonRecord[] {
  if (!isRecord(option)) return [];
  const { type, url, image } = option;
  if (type === "docker") return [{ ...option, image: imageUrl(image) }];
  if (type !== "source_code") return [option];
  const absolute = sourceUrl(url);
  return absolute === undefined ? [] : [{ ...option, url: absolute }];
}

/** `git@host:path` and `host/path` mean what these URLs say; a path on a disk means nothing elsewhere. */
function sourceUrl(written: unknown): string | undefined {
  const text = String(written);
  const remote = /^([\w.-]+@[\w.-]+):(?!\/\/)\/?(.+)$/.exec(text);
  if (remote !== null) return `ssh://${remote[1]}/${remote[2]}`;
  if (/^[\w-]+(?:\.[\w-]+)+(?::\d+)?\//.test(text)) return `https://${text}`;
  return /^[a-z][a-z0-9+.-]*:\/\/(?!\.)/i.test(text) && URL.canParse(text) ? text : undefined;
}

/** The reference of an image is no URL by itself. */
function imageUrl(written: unknown): string {
  const text = String(written);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `docker://${text}`;
}

/** A variable that an agent reads; its description is required. */
export function variablePart(variable: unknown): readonly JsonRecord[] {
  if (!isRecord(variable)) return [];
  const { name, required, desc = variable["description"] } = variable;
  const value = variable["defaultValue"] ?? variable["default_value"];
  return [
    {
      ...{ name, desc: typeof desc === "string" ? desc : String(name) },
      ...(typeof required === "boolean" ? { required } : {}),
      ...(typeof value === "string" ? { defaultValue: value } : {}),
    },
  ];
}

/** A skill by its number; those that newer records only name have none. */
export function skillPart(skill: unknown): readonly JsonRecord[] {
  if (!isRecord(skill)) return [];
  const { class_uid: uid = skill["id"], id: _id, name, ...rest } = skill;
  if (typeof uid !== "number") return [];
  return [{ ...rest, class_uid: uid, ...(typeof name === "string" ? { class_name: name } : {}) }];
}

const LOCATOR_TYPES: ReadonlyMap<string, string> = new Map([
  ...["binary", "helm-chart", "docker-image", "py-package", "source-code"].map(
    (type) => [type, type] as const,
  ),
  ["helm_chart", "helm-chart"],
  ["docker_image", "docker-image"],
  ["container_image", "docker-image"],
  ["python_package", "py-package"],
  ["source_code", "source-code"],
]);

/** A locator; newer records have several addresses in one. */
export function locatorPart(
  locator: unknown,
): readonly { readonly type: string; readonly url: string }[] {
  const { type, url, urls } = isRecord(locator) ? locator : {};
  const known = LOCATOR_TYPES.get(String(type)) ?? "unspecified";
  return [url, ...listOf(urls)].flatMap((one) =>
    typeof one === "string" ? [{ type: known, url: one }] : [],
  );
}
