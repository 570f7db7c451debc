/**
 * Loads the listed manifests and finds the workflows to expose. A manifest with a problem exposes nothing; one without
 * still exposes only what `expose` names.   agentcli spec "Manifest"
 */
import { relative } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { suggest } from "../../base/close-matches.ts";
import { quoteValue } from "../../base/json-value.ts";
import type { Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { findRepeatedMember } from "../../base/repeated-member.ts";
import { reasonOf } from "../../base/thrown.ts";
import { expandWorkflows } from "./compile/task-plan.ts";
import type { AgentcliConfig } from "./config.ts";
import type { Finding } from "./manifest/finding.ts";
import type { Manifest, Workflow } from "./manifest/manifest.ts";
import { validateManifest } from "./manifest/validate.ts";

/** A workflow that agents may run. */
export interface ExposedWorkflow {
  /** Relative to the deployment directory. */
  readonly file: string;
  readonly manifest: Manifest;
  /** The expanded workflow. */
  readonly workflow: Workflow;
}

/** The workflows in the order of `expose`, and all problems. */
interface LoadedWorkflows {
  readonly workflows: readonly ExposedWorkflow[];
  readonly problems: readonly Problem[];
}

/** Parsing is one uninterrupted step, as for OpenWOP packs and AGNTCY manifests. */
const MAX_BYTES = 1_048_576;

interface WorkflowPlaces {
  readonly directory: string;
  /** The configuration file, relative to the directory. */
  readonly configFile: string;
}

/** Loads the workflows, one manifest or workflow per step. */
export function* loadingWorkflows(
  settings: AgentcliConfig,
  places: WorkflowPlaces,
): Paced<LoadedWorkflows> {
  const problems: Problem[] = [];
  const known = new Map<string, ExposedWorkflow>();
  for (const path of settings.manifests) {
    const file = relative(places.directory, path);
    const manifest = yield* loadingManifest(path, file, problems);
    yield;
    for (const workflow of manifest === undefined ? [] : expandWorkflows(manifest)) {
      const other = known.get(workflow.id);
      if (other === undefined && manifest !== undefined) {
        known.set(workflow.id, { file, manifest, workflow });
      } else {
        const message = `workflow "${workflow.id}" is in ${other?.file} already`;
        problems.push({ file, key: "workflows", message });
      }
    }
  }
  const workflows = new Map<string, ExposedWorkflow>();
  for (const [index, id] of settings.expose.entries()) {
    yield;
    const workflow = known.get(id);
    if (workflow !== undefined) workflows.set(id, workflow);
    else problems.push(unknownWorkflow(id, index, known.keys(), places));
  }
  return { workflows: [...workflows.values()], problems };
}

function* loadingManifest(
  path: string,
  file: string,
  problems: Problem[],
): Paced<Manifest | undefined> {
  const { text, fault } = readBoundedFile(path, MAX_BYTES);
  if (text === undefined) {
    problems.push({ file, key: "", message: fault });
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    problems.push({ file, key: "", message: `must be JSON: ${reasonOf(error)}` });
    return undefined;
  }
  const repeated = findRepeatedMember(text);
  if (repeated !== undefined) {
    const message = `must not have the member ${quoteValue(repeated)} twice in one object`;
    problems.push({ file, key: "", message });
    return undefined;
  }
  yield;
  const { ok, errors, warnings } = validateManifest(value);
  problems.push(...errors.map((finding) => toProblem(file, finding)));
  const severity = "warning";
  problems.push(...warnings.map((finding) => ({ ...toProblem(file, finding), severity }) as const));
  return ok ? (value as Manifest) : undefined;
}

function toProblem(file: string, { path, message }: Finding): Problem {
  return { file, key: path.replace(/^\$\.?/, ""), message };
}

function unknownWorkflow(
  id: string,
  index: number,
  known: Iterable<string>,
  { configFile }: WorkflowPlaces,
): Problem {
  const problem = {
    file: configFile,
    key: `agentcli.expose[${index}]`,
    message: `no manifest that could be loaded has a workflow "${id}"`,
  };
  const hint = suggest(id, known);
  return hint === undefined ? problem : { ...problem, hint };
}
