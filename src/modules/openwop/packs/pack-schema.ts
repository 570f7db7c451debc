/**
 * The schema of a pack.json: a closed object with the pack's name, needs, and agents or nodes. Each agent is validated
 * separately, so that an invalid one does not affect the others.   OpenWOP "Node Packs", RFC 0003 §A, RFC 0072 §C
 */
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";
import { MANIFEST_CLASSES } from "../installed-agent.ts";

const TEXT: JsonSchema = { type: "string", maxLength: 4096 };
const SOME_TEXT: JsonSchema = { ...TEXT, minLength: 1 };
const FLAG: JsonSchema = { type: "boolean" };
const MAX_ENTRIES = 256;

function listOf(items: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { type: "array", items, maxItems: MAX_ENTRIES, ...more };
}

function mapOf(values: JsonSchema): JsonSchema {
  return { type: "object", additionalProperties: values, maxProperties: MAX_ENTRIES };
}

const oauth = closedObject(
  { type: { const: "oauth2" }, provider: SOME_TEXT, scopes: listOf(TEXT) },
  ["type", "provider"],
);
const credentialScope: JsonSchema = { enum: ["user", "workspace", "tenant"] };

const secretRequirement = closedObject(
  {
    id: SOME_TEXT,
    kind: { enum: ["ai-provider", "api-key", "oauth-token", "custom"] },
    provider: TEXT,
    scope: { enum: ["tenant", "user", "run"] },
  },
  ["id", "kind"],
);

const artifact = closedObject({
  typeId: TEXT,
  syncOn: { enum: ["completion", "approval", "manual"] },
  supportsCheckpoint: FLAG,
});

const node = closedObject(
  {
    typeId: { type: "string", pattern: "^[a-z][a-zA-Z0-9._-]*$", maxLength: 256 },
    version: TEXT,
    label: SOME_TEXT,
    description: TEXT,
    category: { enum: ["chat", "control", "data", "canvas", "coordination", "integration"] },
    role: TEXT,
    capabilities: listOf(
      { enum: ["streamable", "cacheable", "side-effectful", "mcp-exportable"] },
      { uniqueItems: true },
    ),
    configSchemaRef: TEXT,
    inputSchemaRef: TEXT,
    outputSchemaRef: TEXT,
    outputs: mapOf({ type: "object", properties: { sensitive: FLAG } }),
    envelopeContractRef: TEXT,
    artifact,
    mcp: closedObject({ exposeAsTool: FLAG, toolName: TEXT }),
    requiresSecrets: listOf(secretRequirement),
    requiredCredentials: listOf(
      closedObject({ key: SOME_TEXT, scope: credentialScope, displayName: TEXT }, ["key"]),
    ),
    auth: oauth,
    requiredModelCapabilities: listOf(
      { type: "string", pattern: "^[a-z][a-z0-9-]*$" },
      { uniqueItems: true, maxItems: 32 },
    ),
    fallbackModel: closedObject(
      { provider: { type: "string", pattern: "^[a-z][a-z0-9-]*$" }, model: SOME_TEXT },
      ["provider", "model"],
    ),
  },
  ["typeId", "version", "category", "role"],
);

const connector = closedObject(
  {
    id: { type: "string", pattern: "^[a-z][a-z0-9.-]*$" },
    displayName: SOME_TEXT,
    auth: {
      anyOf: [
        oauth,
        closedObject({ type: { const: "credential" }, key: SOME_TEXT, scope: credentialScope }, [
          "type",
          "key",
        ]),
      ],
    },
    actions: listOf(
      closedObject(
        {
          typeId: SOME_TEXT,
          displayName: SOME_TEXT,
          idempotent: FLAG,
          rateLimit: closedObject({
            requests: { type: "integer", minimum: 1 },
            perSeconds: { type: "integer", minimum: 1 },
          }),
          paginated: FLAG,
        },
        ["typeId", "displayName"],
      ),
    ),
    triggers: listOf(SOME_TEXT),
  },
  ["id", "displayName"],
);

const PRIMITIVES = [
  ...["net.dns", "net.outbound", "crypto", "subprocess"],
  ...["fs.read", "fs.write", "env.read", "clock"],
];

const runtime = closedObject(
  {
    language: { enum: ["javascript", "python", "go", "wasm", "wasm-component", "remote"] },
    entry: TEXT,
    format: { enum: ["esm", "cjs", "wheel", "binary", "shared-library", "wasm", "wasm-component"] },
    minRuntimeVersion: TEXT,
    requires: listOf({ enum: PRIMITIVES }, { uniqueItems: true }),
  },
  ["language", "entry"],
);

/** `tier.org.name`; packs have no `local` tier. */
const PACK_NAME = "^(core|vendor|community|private)\\.[a-z][a-z0-9_-]*(\\.[a-z][a-zA-Z0-9_-]*)+$";
const VERSION = "\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?";

export const PACK_SCHEMA: JsonSchema = closedObject(
  {
    kind: { const: "node" },
    name: { type: "string", pattern: PACK_NAME, maxLength: 256 },
    version: { type: "string", pattern: `^${VERSION}$`, maxLength: 256 },
    description: { type: "string", maxLength: 1024 },
    author: TEXT,
    license: TEXT,
    homepage: { ...TEXT, format: "uri" },
    repository: { ...TEXT, format: "uri" },
    keywords: listOf({ type: "string", maxLength: 64 }, { maxItems: 50 }),
    engines: { type: "object", required: ["openwop"], properties: { openwop: TEXT } },
    dependencies: mapOf(TEXT),
    peerDependencies: mapOf(TEXT),
    peerDependenciesMeta: mapOf(closedObject({ optional: FLAG })),
    nodes: listOf(node),
    agents: listOf({ type: "object" }),
    runtime,
    signing: closedObject({
      publicKeyRef: SOME_TEXT,
      signatureRef: SOME_TEXT,
      method: { enum: ["manual", "sigstore"] },
    }),
    connector,
  },
  ["name", "version", "engines", "runtime"],
);

const UNBOUNDED: JsonSchema = { type: "string", minLength: 1 };
const TEMPLATE_ID = "[a-z0-9][a-z0-9._-]{0,127}";
const templateId: JsonSchema = { type: "string", pattern: `^${TEMPLATE_ID}$` };

/** `tier.org.name` in any number of parts; manifests cannot have a `host:` id. */
const AGENT_ID =
  "^(core|vendor|community|private|local)\\.[a-z][a-z0-9_-]*(\\.[a-z][a-zA-Z0-9_-]*)+$";

const promptReference: JsonSchema = {
  anyOf: [
    { type: "string", pattern: `^prompt:${TEMPLATE_ID}(@${VERSION})?$` },
    closedObject(
      {
        ...{ libraryId: templateId, templateId, variableOverrides: { type: "object" } },
        version: { type: "string", pattern: `^${VERSION}$` },
      },
      ["templateId"],
    ),
  ],
};

/**
 * One agent's manifest, with the role of newer packs or without it. An agent with the role `skill` keeps no memory
 * between tasks.   OpenWOP RFC 0003 §B, RFC 0131 §B
 */
export const AGENT_SCHEMA: JsonSchema = {
  ...closedObject(
    {
      agentId: { type: "string", pattern: AGENT_ID, minLength: 3, maxLength: 256 },
      persona: { type: "string", minLength: 1, maxLength: 200 },
      modelClass: { enum: MANIFEST_CLASSES },
      ...{ systemPrompt: UNBOUNDED, systemPromptRef: UNBOUNDED, evalSuiteRef: UNBOUNDED },
      toolAllowlist: listOf(UNBOUNDED),
      requiresCapabilities: listOf(UNBOUNDED, { uniqueItems: true }),
      role: { enum: ["skill", "assistant"] },
      memoryShape: closedObject({ scratchpad: FLAG, conversation: FLAG, longTerm: FLAG }),
      confidence: closedObject({ defaultThreshold: { type: "number", minimum: 0, maximum: 1 } }),
      handoff: closedObject({ taskSchemaRef: UNBOUNDED, returnSchemaRef: UNBOUNDED }),
      label: { type: "string", minLength: 1, maxLength: 100 },
      description: { type: "string", maxLength: 500 },
      promptLibraryRef: templateId,
      promptOverrides: closedObject({
        ...{ system: promptReference, user: promptReference },
        ...{ "few-shot": promptReference, "schema-hint": promptReference },
      }),
    },
    ["agentId", "persona", "modelClass"],
  ),
  if: { required: ["role"], properties: { role: { const: "skill" } } },
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
  then: {
    required: ["handoff"],
    properties: {
      memoryShape: { properties: { conversation: { const: false }, longTerm: { const: false } } },
    },
  },
};
