/**
 * One entry of a pack's `agents`: from the manifest to an agent that can take turns, or to
 * everything that is wrong with it. Its siblings are installed all the same.
 * OpenWOP RFC 0003 §B-C, RFC 0072 §C, RFC 0092
 */

import { joinKey } from "../../../base/dotted-key.ts";
import {
  isRecord,
  type JsonRecord,
  quoteValue,
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
import type { PackFiles } from "./pack-files.ts";
import type { Capabilities } from "./peer-capabilities.ts";

/** Tells of something that keeps the agent from being installed; `key` is one of its own. */
type ReportAgent = (key: string, message: string) => void;

interface AgentSurroundings {
  readonly pack: PackIdentity;
  readonly files: PackFiles;
  readonly capabilities: Capabilities;
  /** The capabilities that the whole pack does without. */
  readonly degraded: readonly string[];
  /** Why no model takes turns of a class, in words; undefined: one does. */
  modelFault(modelClass: ManifestClass): string | undefined;
}

const MAX_PROMPT_BYTES = 262_144;
const MAX_SUITE_BYTES = 1_048_576;

/** Reads a manifest that satisfies the schema; undefined when something was reported. */
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
  const handoff = isRecord(manifest["handoff"]) ? manifest["handoff"] : {};
  const confidence = isRecord(manifest["confidence"]) ? manifest["confidence"] : {};
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
    confidenceThreshold: numberOf(confidence["defaultThreshold"]),
    taskSchema: readSchema("taskSchemaRef", handoff, around.files, fail),
    returnSchema: readSchema("returnSchemaRef", handoff, around.files, fail),
    evalSuite: readSuite(manifest, around.files, fail),
    degraded: degradedOf(manifest, around),
    pack: around.pack,
    manifest,
  };
  return isSound ? agent : undefined;
}

/** A pack has agents under its own name only. */
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
  const { value, fault } = files.readText(reference, MAX_PROMPT_BYTES);
  if (value === undefined) fail("systemPromptRef", fault);
  return value ?? "";
}

/** It is not run here, but a manifest that refers to nothing is malformed. */
function readSuite(manifest: JsonRecord, files: PackFiles, fail: ReportAgent): string | undefined {
  const reference = textIn(manifest["evalSuiteRef"]);
  if (reference === undefined) return undefined;
  const { value, fault } = files.readText(reference, MAX_SUITE_BYTES);
  if (fault !== undefined) fail("evalSuiteRef", fault);
  return value;
}

function readSchema(
  name: "taskSchemaRef" | "returnSchemaRef",
  handoff: JsonRecord,
  files: PackFiles,
  fail: ReportAgent,
): CompiledSchema | undefined {
  const reference = textIn(handoff[name]);
  if (reference === undefined) return undefined;
  const key = joinKey("handoff", name);
  const { value: text, fault } = files.readText(reference, MAX_SCHEMA_BYTES);
  if (text === undefined) {
    fail(key, fault);
    return undefined;
  }
  const place = quoteValue(reference);
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

/** Prompt libraries are a capability that this host has not unless its operator says so. */
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

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
