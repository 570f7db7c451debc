/**
 * Loads the workflows of a deployment: every JSON file of `[openwop] workflows_dir`. A definition with a problem is
 * left out without affecting the others.
 */

import { readingFiles } from "../../../base/deployment-files.ts";
import { fromPointer } from "../../../base/dotted-key.ts";
import { isRecord } from "../../../base/json-value.ts";
import { atOnce, type Paced } from "../../../base/paced.ts";
import type { Problem } from "../../../base/problem.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { type CompiledSchema, compileOwn, type SchemaCompiler } from "../../../schema/schema.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import { checkWorkflow, findingDangling, type WorkflowFault } from "./check-workflow.ts";
import { WORKFLOW_SCHEMA, type WorkflowDefinition } from "./workflow.ts";

export interface Workflow {
  readonly definition: WorkflowDefinition;
  /** Undefined accepts any `configurable`. */
  readonly configurable: CompiledSchema | undefined;
}

/** By workflow id. */
export type Workflows = ReadonlyMap<string, Workflow>;

/** The directory of the definitions, and the dependencies of checking them. */
interface WorkflowsLocation {
  readonly directory: string;
  readonly dir: string;
  readonly types: NodeTypes;
  readonly compiler: SchemaCompiler;
  /** Returns warnings, which do not exclude a definition. */
  remarksOn?(definition: WorkflowDefinition): readonly WorkflowFault[];
}

const DEFAULT_DIR = "agents/openwop/workflows";
const MAX_WORKFLOWS = 1024;

/** The loaded workflows, and the problems of the others. */
interface LoadedWorkflows {
  readonly workflows: Workflows;
  readonly problems: readonly Problem[];
}

/** Loads every workflow of a directory. */
export function loadWorkflows(location: WorkflowsLocation): LoadedWorkflows {
  return atOnce(loadingWorkflows(location));
}

/** Loads workflows, one per step. */
export function* loadingWorkflows(location: WorkflowsLocation): Paced<LoadedWorkflows> {
  const { directory, dir } = location;
  const { files, problems } = yield* readingFiles({
    ...{ directory, dir, defaultDir: DEFAULT_DIR, suffix: ".json", recursive: false },
  });
  const workflows = new Map<string, Workflow>();
  const filesOf = new Map<string, string>();
  const found: Problem[] = [...problems];
  for (const { file, text } of files) {
    yield;
    const read = readWorkflow(file, text, location);
    if (read.workflow === undefined) {
      found.push(...read.problems);
      continue;
    }
    const { id } = read.workflow.definition;
    if (workflows.has(id)) {
      found.push({ file, key: "id", message: `"${id}" is another workflow's already` });
    } else if (workflows.size === MAX_WORKFLOWS) {
      found.push({ file, key: "", message: `is one workflow more than ${MAX_WORKFLOWS}` });
    } else {
      workflows.set(id, read.workflow);
      filesOf.set(id, file);
      for (const remark of location.remarksOn?.(read.workflow.definition) ?? []) {
        found.push({ file, ...remark, severity: "warning" });
      }
    }
  }
  return { workflows, problems: [...found, ...(yield* droppingDangling(workflows, filesOf))] };
}

/** Removes workflows whose sub-workflow is missing or leads back to them. */
function* droppingDangling(
  workflows: Map<string, Workflow>,
  filesOf: ReadonlyMap<string, string>,
): Paced<readonly Problem[]> {
  const faults = yield* findingDangling(workflows);
  for (const { workflowId } of faults) workflows.delete(workflowId);
  return faults.map(({ workflowId, key, message }) => {
    return { file: filesOf.get(workflowId) ?? "", key, message };
  });
}

type Reading =
  | { readonly workflow: Workflow }
  | { readonly workflow?: undefined; readonly problems: readonly Problem[] };

function readWorkflow(file: string, text: string, location: WorkflowsLocation): Reading {
  const { types, compiler } = location;
  const document = parseBoundedJson(text);
  if (document.fault !== undefined) {
    return { problems: [{ file, key: "", message: document.fault }] };
  }
  const violations = compileOwn(WORKFLOW_SCHEMA).check(document.value) ?? [];
  if (violations.length > 0) {
    return {
      problems: violations.map(({ path, message }) => {
        return { file, key: fromPointer(path, document.value), message };
      }),
    };
  }
  const definition = document.value as WorkflowDefinition;
  const faults = checkWorkflow(definition, types).map((fault) => ({ file, ...fault }));
  if (faults.length > 0) return { problems: faults };
  const { configurableSchema } = definition;
  if (!isRecord(configurableSchema)) return { workflow: { definition, configurable: undefined } };
  const place = { file, key: "configurableSchema" };
  const { compiled, problems } = compiler.compile(configurableSchema, place);
  if (compiled === undefined) return { problems };
  return { workflow: { definition, configurable: compiled } };
}
