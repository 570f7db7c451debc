/**
 * Installed agents as manifests again: listed as their packs have them, and exported so that they can
 * be installed elsewhere, the prompt within, the files that a manifest refers to beside it. What is
 * taken out of them is what looks like a secret.   OpenWOP RFC 0003 §A, §C-D
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { InstalledAgent, InstalledPack } from "../installed-agent.ts";
import type { Redactor } from "../redaction.ts";

/** A pack, as it can be written into a directory and installed. */
export interface ExportedPack {
  readonly name: string;
  readonly version: string;
  /** Its pack.json: agents only, and unsigned, since it is not what was signed. */
  readonly manifest: JsonRecord;
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Names are as long as the manifest's schema lets them be, whatever stands in place of a secret. */
const MAX_LENGTHS = { persona: 200, label: 100, description: 500 } as const;

/** The manifest as it stands in the pack. */
export function listedManifest(
  { manifest, agentId }: InstalledAgent,
  redactor: Redactor,
): JsonRecord {
  const shown = redactor.value(manifest) as JsonRecord;
  const cut = Object.entries(MAX_LENGTHS).flatMap(([name, length]) => {
    const text = shown[name];
    return typeof text === "string" ? [[name, text.slice(0, length)] as const] : [];
  });
  return { ...shown, ...Object.fromEntries(cut), agentId };
}

/** The same with its prompt; an empty one can stand in a file alone. */
export function exportedManifest(agent: InstalledAgent, redactor: Redactor): JsonRecord {
  const { systemPromptRef, systemPrompt: _, ...manifest } = listedManifest(agent, redactor);
  const prompt = redactor.text(agent.prompt);
  return prompt === "" ? { ...manifest, systemPromptRef } : { ...manifest, systemPrompt: prompt };
}

/** A pack with its agents and all that they refer to. */
export function exportPack(pack: InstalledPack, redactor: Redactor): ExportedPack {
  const { name, version, manifest, agents } = pack;
  const { signing: _s, nodes: _n, connector: _c, ...kept } = manifest;
  const files = agents.flatMap((agent) => filesOf(agent, redactor));
  return {
    ...{ name, version },
    manifest: {
      ...(redactor.value(kept) as JsonRecord),
      agents: agents.map((agent) => exportedManifest(agent, redactor)),
    },
    files: Object.fromEntries(files),
  };
}

function filesOf(agent: InstalledAgent, redactor: Redactor): readonly [string, string][] {
  const { manifest, taskSchema, returnSchema, evalSuite, prompt } = agent;
  const handoff = isRecord(manifest["handoff"]) ? manifest["handoff"] : {};
  const promptRef = prompt === "" ? manifest["systemPromptRef"] : undefined;
  const named: readonly (readonly [unknown, string | undefined])[] = [
    [handoff["taskSchemaRef"], taskSchema && written(taskSchema.schema)],
    [handoff["returnSchemaRef"], returnSchema && written(returnSchema.schema)],
    [manifest["evalSuiteRef"], evalSuite],
    [promptRef, prompt],
  ];
  return named.flatMap(([path, text]): [string, string][] =>
    typeof path === "string" && text !== undefined ? [[path, redactor.text(text)]] : [],
  );
}

function written(schema: object): string {
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
