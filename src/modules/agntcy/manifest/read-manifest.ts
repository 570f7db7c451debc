/**
 * Reads an AGNTCY Agent Manifest in any of the three known shapes: the published samples (`specs`, `deployments`,
 * `dependencies`), the workflow server's first schema (`specs`, `deployment`), and the OASF record with both in its
 * runtime extension. Returns one model, or every problem by JSON Pointer.
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { describeValue, isRecord, isTexts, quoteValue } from "../../../base/json-value.ts";
import { isError, type Problem } from "../../../base/problem.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { readAcpSpecs } from "./acp-specs.ts";
import { MAX_DEPENDENCIES, readDependencies, readOptions, readVariables } from "./deployment.ts";
import { type AgentManifest, type ManifestShape, manifestRoot } from "./manifest.ts";

/** The maximum size of a manifest. */
export const MAX_MANIFEST_BYTES = 1_048_576;

/** The manifest, absent if a problem is an error. */
export interface ReadManifest {
  readonly manifest?: AgentManifest;
  readonly problems: readonly Problem[];
}

/** The parts of a manifest, independent of its shape. */
interface Sections {
  readonly shape: ManifestShape;
  /** The name, version and adjacent description. */
  readonly identity:
    | { readonly ref: DocumentPlace; readonly description: DocumentPlace }
    | undefined;
  readonly specs: DocumentPlace | undefined;
  readonly options: readonly DocumentPlace[];
  readonly dependencies: readonly DocumentPlace[];
  /** The deployment that has the agent's `env_vars`. */
  readonly deployment: DocumentPlace | undefined;
}

const MAX_OPTIONS = 64;
/** Names are shown, compared and turned into variable names. */
const NAME = /^[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,254}[^\s\x00-\x1f\x7f])?$/;

/** Reads the text of a manifest; problems name it `file`. */
export function readManifest(text: string, file: string): ReadManifest {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) return { problems: [{ file, key: "", message: parsed.fault }] };
  if (!isRecord(parsed.value)) {
    const message = `${describeValue(parsed.value)}, expected a manifest as an object`;
    return { problems: [{ file, key: "", message }] };
  }
  const problems: Problem[] = [];
  const root = manifestRoot(parsed.value, file, problems);
  const sections = findSections(root);
  const manifest = sections && readSections(sections, root, file);
  if (manifest === undefined || problems.some(isError)) return { problems };
  return { manifest, problems };
}

function findSections(root: DocumentPlace): Sections | undefined {
  if (root.has(["extensions", "modules"])) return recordSections(root);
  if (!root.has(["specs", "acp"]) && root.has("schema_version")) {
    const hint = `the manifest is in the extension ${RUNTIME_EXTENSION}`;
    return root.at("extensions").fail("is missing", hint);
  }
  const metadata = root.at("metadata").record();
  const ref = metadata?.at("ref").record();
  const common = {
    identity: metadata && ref && { ref, description: metadata },
    specs: root.at(["specs", "acp"]).record(),
  };
  const isNewer = root.has("deployment");
  const isOlder = ["deployments", "dependencies"].some((name) => isThere(root, name, isNewer));
  if (isOlder) {
    if (isNewer) root.at("deployment").fail("stands beside deployments or dependencies");
    return {
      ...common,
      shape: "agent-manifest",
      options: root.at("deployments").records({ most: MAX_OPTIONS }),
      dependencies: root.at("dependencies").records({ most: MAX_DEPENDENCIES }),
      deployment: root,
    };
  }
  const deployment = root.at("deployment").optional?.record();
  return { ...common, shape: "deployment-manifest", ...deploymentSections(deployment) };
}

/** Tools write an empty list of the older shape next to the newer one; it is ignored. */
function isThere(root: DocumentPlace, name: string, isNewer: boolean): boolean {
  const { value } = root.at(name);
  const isNothing = isNewer && Array.isArray(value) && value.length === 0;
  return value !== undefined && !isNothing;
}

function recordSections(root: DocumentPlace): Sections | undefined {
  const data = readRecord(root);
  if (data === undefined) return undefined;
  return {
    shape: "oasf-record",
    identity: { ref: root, description: root },
    specs: data.at(["acp", "specs"]).record(),
    ...deploymentSections(data.at("deployment").record()),
  };
}

function deploymentSections(
  deployment: DocumentPlace | undefined,
): Pick<Sections, "options" | "dependencies" | "deployment"> {
  if (deployment === undefined) return { options: [], dependencies: [], deployment };
  const options = deployment.at("deployment_options").records({ most: MAX_OPTIONS });
  if (options.length === 0 && !deployment.has("deployment_options")) {
    deployment.at("deployment_options").fail("is missing, expected an array");
  }
  const dependencies = deployment
    .at(["agent_deps", "dependencies"])
    .records({ most: MAX_DEPENDENCIES });
  return { options, dependencies, deployment };
}

function readSections(
  { shape, identity, specs: written, ...sections }: Sections,
  root: DocumentPlace,
  file: string,
): AgentManifest | undefined {
  const name = identity && readName(identity.ref, "name");
  const version = identity && readName(identity.ref, "version");
  const description = identity?.description.at("description").text();
  const specs = written && readAcpSpecs(written);
  const options = readOptions(sections.options);
  const isBare = shape === "agent-manifest";
  const dependencies = readDependencies(sections.dependencies, isBare);
  const environment = sections.deployment === undefined ? [] : readVariables(sections.deployment);
  if (sections.options.length === 0) noteMissingOptions(shape, sections, root);
  if (name === undefined || version === undefined || description === undefined) return undefined;
  if (specs === undefined) return undefined;
  return { file, shape, name, version, description, specs, options, environment, dependencies };
}

/** Warns that a plain ACP descriptor does not say where its agent is. */
function noteMissingOptions(
  shape: ManifestShape,
  { deployment }: Pick<Sections, "deployment">,
  root: DocumentPlace,
): void {
  const message = "no deployment option is found in the manifest";
  if (shape === "deployment-manifest" && deployment === undefined) {
    const hint = "it is an ACP descriptor alone";
    root.at("deployment").warn(message, hint);
  } else if (shape === "agent-manifest") root.at("deployments").fail(message);
  else if (deployment !== undefined) {
    const isReachable = root.at("annotations").optional?.record()?.has(AGTP_ANNOTATION) === true;
    const hint = "the agent is reached over AGTP, which has none";
    const options = deployment.at("deployment_options");
    if (isReachable) options.warn(message, hint);
    else options.fail(message);
  }
}

function readName(owner: DocumentPlace, member: "name" | "version"): string | undefined {
  const text = owner.at(member).text();
  if (text === undefined || NAME.test(text)) return text;
  const expected = "expected at most 256 characters without line breaks or spaces around them";
  return owner.at(member).fail(`is ${quoteValue(text)}, ${expected}`);
}

/** The name of the runtime extension. */
export const RUNTIME_EXTENSION = "schema.oasf.agntcy.org/features/runtime/manifest";
/** Its other names: an older one in the SDK's example, and newer ones in modules. */
const RUNTIME_MODULES: ReadonlySet<unknown> = new Set([
  RUNTIME_EXTENSION,
  "oasf.agntcy.org/feature/runtime/manifest",
  "runtime/manifest",
  "integration/acp",
  "integration/acp_manifest",
  "acp_manifest",
]);
/** Tells whether an extension or module of this name contains a manifest. */
export function isRuntimeExtension(name: unknown): boolean {
  return RUNTIME_MODULES.has(name);
}

/** The annotation with an agent's AGTP address. */
export const AGTP_ANNOTATION = "agtp.uri";
const LOCATOR_TYPES = [
  ...["binary", "unspecified", "helm-chart", "helm_chart", "docker-image", "docker_image"],
  ...["py-package", "python_package", "source-code", "source_code", "container_image", "url"],
];
const MAX_ITEMS = 256;

/** Finds the data of the runtime extension by name, and reports faults in the record around it. */
function readRecord(root: DocumentPlace): DocumentPlace | undefined {
  root.at("schema_version").text();
  readAuthors(root);
  readSkills(root);
  readLocators(root);
  const extensions = root.at(["extensions", "modules"]).records({ most: MAX_ITEMS });
  const found = extensions.filter((one) => isRuntimeExtension(one.at("name").value));
  const [extension, second] = found;
  if (second !== undefined) second.at("name").fail("stands in the record twice");
  if (extension !== undefined) return extension.at("data").record();
  return root.at(["extensions", "modules"]).fail(`has no extension called "${RUNTIME_EXTENSION}"`);
}

function readAuthors(root: DocumentPlace): void {
  const authors = root.at("authors");
  if (!isTexts(authors.value)) authors.fail("must be an array of names");
}

function readSkills(root: DocumentPlace): void {
  if (!root.has("skills")) root.at("skills").fail("is missing, expected an array");
  for (const skill of root.at("skills").records({ most: MAX_ITEMS })) {
    const { value } = skill.at(["class_uid", "id"]);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) continue;
    // Since record version 0.8, skills have a name instead.
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
