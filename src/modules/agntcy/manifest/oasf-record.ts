/**
 * An OASF record as a manifest: the agent's own members at the top, and the manifest proper in one
 * extension, found by its name wherever it stands among the others.
 */

import type { DocumentPlace } from "../../../base/document-place.ts";
import { quoteValue } from "../../../base/json-value.ts";

/** The extension that a manifest is in. */
export const RUNTIME_EXTENSION = "schema.oasf.agntcy.org/features/runtime/manifest";
/** Its other names: the SDK's own example has an older one, and modules have newer ones. */
const RUNTIME_MODULES: ReadonlySet<string> = new Set([
  RUNTIME_EXTENSION,
  "oasf.agntcy.org/feature/runtime/manifest",
  "runtime/manifest",
  "integration/acp",
  "integration/acp_manifest",
  "acp_manifest",
]);
/** The annotation that says where an agent is reached over AGTP. */
export const AGTP_ANNOTATION = "agtp.uri";
const LOCATOR_TYPES = [
  ...["binary", "unspecified", "helm-chart", "helm_chart", "docker-image", "docker_image"],
  ...["py-package", "python_package", "source-code", "source_code", "container_image", "url"],
];
const MAX_ITEMS = 256;

/** The extension's data, with everything that is wrong around it reported. */
export function readRecord(root: DocumentPlace): DocumentPlace | undefined {
  root.at("schema_version").text();
  readAuthors(root);
  readSkills(root);
  readLocators(root);
  const extensions = root.at(["extensions", "modules"]).records({ most: MAX_ITEMS });
  const found = extensions.filter((one) => {
    const { value } = one.at("name");
    return typeof value === "string" && RUNTIME_MODULES.has(value);
  });
  const [extension, second] = found;
  if (second !== undefined) second.at("name").fail("stands in the record twice");
  if (extension !== undefined) return extension.at("data").record();
  return root.at(["extensions", "modules"]).fail(`has no extension called "${RUNTIME_EXTENSION}"`);
}

function readAuthors(root: DocumentPlace): void {
  const { value } = root.at("authors");
  const isList = Array.isArray(value) && value.every((author) => typeof author === "string");
  if (!isList) root.at("authors").fail("must be an array of names");
}

function readSkills(root: DocumentPlace): void {
  if (!root.has("skills")) root.at("skills").fail("is missing, expected an array");
  for (const skill of root.at("skills").records({ most: MAX_ITEMS })) {
    const { value } = skill.at(["class_uid", "id"]);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) continue;
    // Records since 0.8 name a skill.
    if (typeof skill.at("name").value === "string") continue;
    skill.at("class_uid").fail("must be a whole number");
  }
}

function readLocators(root: DocumentPlace): void {
  if (!root.has("locators")) root.at("locators").fail("is missing, expected an array");
  for (const locator of root.at("locators").records({ most: MAX_ITEMS })) {
    const type = locator.at("type").text();
    if (!locator.has("urls")) locator.at("url").text();
    if (type === undefined || LOCATOR_TYPES.includes(type)) continue;
    const message = `${quoteValue(type)} is not a type that OASF defines`;
    locator.at("type").warn(message);
  }
}
