/**
 * Reads one entry of a pack's `agents` into an agent, or reports all its faults. Other entries are unaffected.
 * OpenWOP RFC 0003 §B-C, RFC 0072 §C, RFC 0092
 */

import { realpathSync } from "node:fs";
import { join, sep } from "node:path";
import {
  describeFileError,
  readBoundedBytes,
  readBoundedFile,
} from "../../../base/bounded-file.ts";
import { joinKey } from "../../../base/dotted-key.ts";
import {
  isRecord,
  type JsonRecord,
  quoteValue,
  recordIn,
  textIn,
  textsIn,
} from "../../../base/json-value.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import type {
  InstalledAgent,
  ManifestClass,
  MemoryShape,
  PackIdentity,
} from "../installed-agent.ts";
import { compileHandoffSchema, MAX_SCHEMA_BYTES } from "./handoff-schema.ts";
import type { Capabilities } from "./peer-capabilities.ts";

/** The content of a file, or the fault of reading it. */
type Read<T> =
  | { readonly value: T; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

const MAX_REFERENCE_LENGTH = 1024;

/**
 * The files of one pack: a manifest's reference cannot leave the directory, neither by `..` nor by a symbolic link.
 * OpenWOP RFC 0003 §C
 */
export class PackFiles {
  readonly #root: string;

  /** `root` is the directory's real path. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Reads a file as UTF-8 text. */
  readText(reference: string, maxBytes: number): Read<string> {
    const found = this.#find(reference);
    if (found.value === undefined) return found;
    const { text, fault } = readBoundedFile(found.value, maxBytes);
    return text === undefined ? quoted(reference, fault) : { value: text };
  }

  /** Reads a file as bytes. */
  readBytes(reference: string, maxBytes: number): Read<Uint8Array> {
    const found = this.#find(reference);
    if (found.value === undefined) return found;
    const { bytes, fault } = readBoundedBytes(found.value, maxBytes);
    return bytes === undefined ? quoted(reference, fault) : { value: bytes };
  }

  #find(reference: string): Read<string> {
    const fault = referenceFault(reference);
    if (fault !== undefined) return quoted(reference, fault);
    try {
      const path = realpathSync(join(this.#root, reference));
      if (path.startsWith(this.#root + sep)) return { value: path };
      return quoted(reference, "is a link that leads out of the pack");
    } catch (error) {
      return quoted(reference, describeFileError(error));
    }
  }
}

function quoted(reference: string, fault: string): { readonly fault: string } {
  return { fault: `${quoteValue(reference)} ${fault}` };
}

/** Returns the fault of a reference. `pack:` URLs are not treated specially: no such file exists. */
function referenceFault(reference: string): string | undefined {
  if (reference.length > MAX_REFERENCE_LENGTH) {
    return `must be at most ${MAX_REFERENCE_LENGTH} characters long`;
  }
  if (reference.includes("\0") || reference.includes("\\")) {
    return "must be a path with forward slashes";
  }
  if (reference.startsWith("/")) return "must be a path relative to the pack";
  return reference.split("/").includes("..") ? "must not lead out of the pack" : undefined;
}

/** Reports a fault that prevents installing the agent; `key` is relative to the agent. */
type ReportAgent = (key: string, message: string) => void;

interface AgentSurroundings {
  readonly pack: PackIdentity;
  readonly files: PackFiles;
  readonly capabilities: Capabilities;
  /** Optional capabilities that the whole pack lacks. */
  readonly degraded: readonly string[];
  /** The reason that no model serves a class; undefined if one does. */
  modelFault(modelClass: ManifestClass): string | undefined;
}

const MAX_PROMPT_BYTES = 262_144;
const MAX_SUITE_BYTES = 1_048_576;

/** Reads a manifest that satisfies the schema; undefined if a fault was reported. */
export function readAgent(
  manifest: JsonRecord,
  around: AgentSurroundings,
  report: ReportAgent,
): InstalledAgent | undefined {
  let isSound = true;
  const fail: ReportAgent = (key, message) => {
    isSound = false;
    report(key, message);
  };
  const agentId = String(manifest["agentId"]);
  const persona = String(manifest["persona"]);
  const modelClass = manifest["modelClass"] as ManifestClass;
  checkOwnership(agentId, around.pack, fail);
  const modelFault = around.modelFault(modelClass);
  if (modelFault !== undefined) fail("modelClass", `unsupported_model_class: ${modelFault}`);
  const prompt = readPrompt(manifest, around.files, fail);
  const handoff = recordIn(manifest["handoff"]);
  const { defaultThreshold } = recordIn(manifest["confidence"]);
  const agent: InstalledAgent = {
    agentId,
    persona,
    label: textIn(manifest["label"]) ?? persona,
    description: textIn(manifest["description"]),
    modelClass,
    prompt,
    toolAllowlist: textsIn(manifest["toolAllowlist"]),
    memoryShape: isRecord(manifest["memoryShape"])
      ? (manifest["memoryShape"] as MemoryShape)
      : undefined,
    confidenceThreshold: typeof defaultThreshold === "number" ? defaultThreshold : undefined,
    taskSchema: readSchema("taskSchemaRef", handoff, around.files, fail),
    returnSchema: readSchema("returnSchemaRef", handoff, around.files, fail),
    // The suite is not run here, but a dangling reference makes the manifest malformed.
    evalSuite: readReferred(manifest, "evalSuiteRef", MAX_SUITE_BYTES, around.files, fail),
    degraded: degradedOf(manifest, around),
    pack: around.pack,
    manifest,
  };
  return isSound ? agent : undefined;
}

/** Requires an agent's id to begin with its pack's name. */
function checkOwnership(agentId: string, { name }: PackIdentity, fail: ReportAgent): void {
  if (agentId === name || agentId.startsWith(`${name}.`)) return;
  fail("agentId", `must be "${name}" or begin with "${name}.", got ${quoteValue(agentId)}`);
}

function readPrompt(manifest: JsonRecord, files: PackFiles, fail: ReportAgent): string {
  const written = textIn(manifest["systemPrompt"]);
  const reference = textIn(manifest["systemPromptRef"]);
  if ((written === undefined) === (reference === undefined)) {
    fail("", "must have one of systemPrompt and systemPromptRef");
    return "";
  }
  if (reference === undefined) return written ?? "";
  return readReferred(manifest, "systemPromptRef", MAX_PROMPT_BYTES, files, fail) ?? "";
}

/** Reads the file that a member refers to, if present; faults are reported under `key`. */
function readReferred(
  record: JsonRecord,
  name: string,
  maxBytes: number,
  files: PackFiles,
  fail: ReportAgent,
  key: string = name,
): string | undefined {
  const reference = textIn(record[name]);
  if (reference === undefined) return undefined;
  const { value, fault } = files.readText(reference, maxBytes);
  if (fault !== undefined) fail(key, fault);
  return value;
}

function readSchema(
  name: "taskSchemaRef" | "returnSchemaRef",
  handoff: JsonRecord,
  files: PackFiles,
  fail: ReportAgent,
): CompiledSchema | undefined {
  const key = joinKey("handoff", name);
  const text = readReferred(handoff, name, MAX_SCHEMA_BYTES, files, fail, key);
  if (text === undefined) return undefined;
  const place = quoteValue(handoff[name]);
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined || !isRecord(parsed.value)) {
    fail(key, `${place} ${parsed.fault ?? "must be a JSON object"}`);
    return undefined;
  }
  const { compiled, faults = [] } = compileHandoffSchema(parsed.value);
  for (const one of faults) {
    fail(key, `${place} is no JSON Schema: ${[one.key, one.message].filter(Boolean).join(": ")}`);
  }
  return compiled;
}

/** Lists missing capabilities. Prompt libraries need one that only the operator can declare. */
function degradedOf(
  manifest: JsonRecord,
  { capabilities, degraded }: AgentSurroundings,
): readonly string[] {
  const needs = textsIn(manifest["requiresCapabilities"]);
  const isTemplated =
    manifest["promptLibraryRef"] !== undefined || manifest["promptOverrides"] !== undefined;
  const missing = capabilities.missing([...needs, ...(isTemplated ? ["prompts"] : [])]);
  return [...new Set([...degraded, ...missing])];
}
