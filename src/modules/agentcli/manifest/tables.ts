/** The field tables of workflows, tasks and profiles, composed from blocks. */
import { BLOCKS, type Field, type Fields, TRUST_LEVELS } from "./fields.ts";

/** The optional blocks of any task. */
export const OPTIONAL_BLOCKS: Fields = {
  ...BLOCKS.task_options,
  ...BLOCKS.governance,
  ...BLOCKS.task_settings,
  ...BLOCKS.tail,
};

/** The fields of a failure handler. */
const ON_FAILURE: Fields = {
  ...BLOCKS.handler_head,
  ...BLOCKS.surface,
  target: "#target",
  ...OPTIONAL_BLOCKS,
};

export const TASK: Fields = {
  ...BLOCKS.task_head,
  ...BLOCKS.surface,
  target: "#target!",
  ...BLOCKS.invocation,
  ...OPTIONAL_BLOCKS,
  on_failure: "#on_failure",
};

/** The fields of a workflow except its tasks. */
export const WORKFLOW: Fields = { ...BLOCKS.workflow_head, ...BLOCKS.governance, ...BLOCKS.tail };

/** The block of each profile list, in checking order. */
export const PROFILE_LISTS = {
  identity_profiles: "#identity_profile",
  authorization_proof_profiles: "#proof_profile",
  authorization_profiles: "#authorization_profile",
  evidence_profiles: "#evidence_profile",
} as const;

export const MANIFEST: Fields = {
  version: "string",
  ...Object.fromEntries(Object.entries(PROFILE_LISTS).map(([key, list]) => [key, { list }])),
  workflows: { list: "#workflow" },
};

const BY_NAME: Readonly<Record<string, Fields>> = {
  ...BLOCKS,
  on_failure: ON_FAILURE,
  task: TASK,
  workflow: { ...WORKFLOW, tasks: { list: "#task" } },
};

/** The fields of a field's block; undefined if it is not one block. */
export function fieldsOf(field: Field): Fields | undefined {
  if (field === "source" || field === "source or literal") return BLOCKS.source;
  if (typeof field === "object") return "whole" in field ? BY_NAME[field.whole] : undefined;
  return field.startsWith("#") ? BY_NAME[field.slice(1).replace("!", "")] : undefined;
}

/** Tells whether a field is required in its block. */
export function isRequired(field: Field): boolean {
  if (typeof field === "string") return field.endsWith("!") || field === "command line";
  return "required" in field && field.required === true;
}

export const TRUST_LEVEL: Field = { among: TRUST_LEVELS };

/** Tells whether an identity is of the structured form. */
export function isStructuredIdentity(identity: object): boolean {
  return Object.entries(identity).some(
    ([key, value]) => Object.hasOwn(BLOCKS.structured_identity, key) && (value ?? null) !== null,
  );
}
