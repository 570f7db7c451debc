/**
 * An OASF record as a manifest: the agent's own members at the top, and the manifest proper in one
 * extension, found by its name wherever it stands among the others.
 */
import { quoteValue } from "../../../base/json-value.ts";
import type { MemberReader } from "./member-reader.ts";

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
export function readRecord(root: MemberReader): MemberReader | undefined {
  root.text("schema_version");
  readAuthors(root);
  readSkills(root);
  readLocators(root);
  const extensions = root.objects(["extensions", "modules"], MAX_ITEMS);
  const found = extensions.filter((one) => {
    const { value } = one.find("name");
    return typeof value === "string" && RUNTIME_MODULES.has(value);
  });
  const [extension, second] = found;
  if (second !== undefined) second.fail("name", "stands in the record twice");
  if (extension !== undefined) return extension.object("data");
  return root.fail(["extensions", "modules"], `has no extension called "${RUNTIME_EXTENSION}"`);
}

function readAuthors(root: MemberReader): void {
  const { value } = root.find("authors");
  const isList = Array.isArray(value) && value.every((author) => typeof author === "string");
  if (!isList) root.fail("authors", "must be an array of names");
}

function readSkills(root: MemberReader): void {
  if (!root.has("skills")) root.fail("skills", "is missing, expected an array");
  for (const skill of root.objects("skills", MAX_ITEMS)) {
    const { value } = skill.find(["class_uid", "id"]);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) continue;
    // Records since 0.8 name a skill.
    if (typeof skill.find("name").value === "string") continue;
    skill.fail("class_uid", "must be a whole number");
  }
}

function readLocators(root: MemberReader): void {
  if (!root.has("locators")) root.fail("locators", "is missing, expected an array");
  for (const locator of root.objects("locators", MAX_ITEMS)) {
    const type = locator.text("type");
    if (!locator.has("urls")) locator.text("url");
    if (type === undefined || LOCATOR_TYPES.includes(type)) continue;
    const message = `${quoteValue(type)} is not a type that OASF defines`;
    locator.fail("type", message, { severity: "warning" });
  }
}
