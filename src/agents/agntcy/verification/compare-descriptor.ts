/**
 * Whether an agent's server describes the agent as its manifest does. What annotates a schema may
 * differ; everything that decides about a value, or about what the agent can do, may not.
 */

import { KEYWORDS } from "../../../contract/schema-vocabulary.ts";
import { canonicalForm } from "../../../identity/canonical-form.ts";
import { isRecord, type JsonRecord } from "../../../json-value.ts";
import type { Problem } from "../../../problem.ts";
import { isError } from "../../../problem.ts";
import { readReference } from "../acp/acp-answers.ts";
import { readAcpSpecs } from "../manifest/acp-specs.ts";
import type { AcpSpecs, AgentManifest } from "../manifest/manifest.ts";
import { MemberReader } from "../manifest/member-reader.ts";

/** Keywords that say nothing about values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["$id", "$schema", "$comment", "title", "description", "default", "examples", "example"],
  ...["deprecated", "readOnly", "writeOnly", "discriminator", "externalDocs", "xml"],
]);

/** What differs, in words; empty: nothing. */
export function compareDescriptor(
  { name, version, specs }: AgentManifest,
  descriptor: JsonRecord,
): readonly string[] {
  const theirs = readReference(descriptor["metadata"]);
  const differences: string[] = [];
  if (theirs.name !== undefined && theirs.name !== name) differences.push("name");
  if (theirs.version !== undefined && theirs.version !== version) differences.push("version");
  const read = readSpecs(descriptor);
  if (typeof read === "string") return [...differences, `specs (${read})`];
  return [...differences, ...compareSpecs(specs, read)];
}

function readSpecs(descriptor: JsonRecord): AcpSpecs | string {
  const problems: Problem[] = [];
  const reader = new MemberReader(descriptor, "", { file: "", problems });
  const written = reader.object(["specs", "acp"]);
  const specs = written && readAcpSpecs(written);
  const fault = problems.find(isError);
  if (specs !== undefined && fault === undefined) return specs;
  return fault === undefined ? "they are missing" : `${fault.key}: ${fault.message}`;
}

function compareSpecs(ours: AcpSpecs, theirs: AcpSpecs): readonly string[] {
  const left = partsOf(ours);
  const right = partsOf(theirs);
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].filter((name) => left.get(name) !== right.get(name));
}

/** Each part as text that is equal when the parts mean the same. */
function partsOf(specs: AcpSpecs): ReadonlyMap<string, string> {
  const { capabilities, input, output, config, threadState, customStreamingUpdate } = specs;
  const parts = new Map([
    ["capabilities", canonicalForm({ capabilities }).toString()],
    ["input", meaningOf(input.schema)],
    ["output", meaningOf(output.schema)],
    ["config", meaningOf(config.schema)],
  ]);
  if (threadState !== undefined) parts.set("thread_state", meaningOf(threadState.schema));
  if (customStreamingUpdate !== undefined) {
    parts.set("custom_streaming_update", meaningOf(customStreamingUpdate.schema));
  }
  for (const { type, payload, resume } of specs.interrupts) {
    parts.set(`interrupts ${type}`, meaningOf(payload.schema) + meaningOf(resume.schema));
  }
  return parts;
}

function meaningOf(schema: JsonRecord): string {
  return canonicalForm({ schema: withoutAnnotations(schema) }).toString();
}

/** Properties may be called like annotations, so it goes down where schemas are. */
function withoutAnnotations(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([keyword, value]) =>
      !ANNOTATIONS.has(keyword) &&
      !keyword.startsWith("x-") &&
      !(value === null && keyword !== "const"),
  );
  const members = kept.map(([keyword, value]): [string, unknown] => {
    switch (KEYWORDS.get(keyword)) {
      case "schema":
        return [keyword, withoutAnnotations(value)];
      case "schema list":
        return [keyword, Array.isArray(value) ? value.map(withoutAnnotations) : value];
      case "schema map":
      case "schema map by pattern":
        if (!isRecord(value)) return [keyword, value];
        return [
          keyword,
          Object.fromEntries(
            Object.entries(value).map(([name, one]) => [name, withoutAnnotations(one)]),
          ),
        ];
      case "unique texts":
        return [keyword, Array.isArray(value) ? value.toSorted() : value];
      default:
        return [keyword, value];
    }
  });
  return Object.fromEntries(members);
}
