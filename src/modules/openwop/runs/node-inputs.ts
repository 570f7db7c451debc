/** The inputs of a node, put together from what stands in the definition, variables and outputs. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { RunError } from "../run-starter.ts";
import type { PortValue, WorkflowNode } from "../workflows/workflow.ts";
import type { RunState } from "./run-state.ts";

/** Every input, or the one that is missing. */
export type NodeInputs =
  | { readonly inputs: JsonRecord; readonly error?: undefined }
  | { readonly inputs?: undefined; readonly error: RunError };

/** Puts them together; an optional one that is not there is left out. */
export function readInputs(node: WorkflowNode, state: RunState): NodeInputs {
  const inputs: [string, unknown][] = [];
  for (const [name, port] of Object.entries(node.inputs)) {
    const value = readPort(port, state);
    if (value !== undefined) inputs.push([name, value]);
    else if (port.type !== "static" && port.optional !== true) {
      const message = `the input "${name}" has no value`;
      return { error: { code: "validation_error", message, details: { input: name } } };
    }
  }
  return { inputs: Object.fromEntries(inputs) };
}

function readPort(port: PortValue, { variables, nodes }: RunState): unknown {
  switch (port.type) {
    case "static":
      return port.value;
    case "variable":
      return memberOf(variables, port.variableName);
    case "connection":
      return memberOf(memberOf(nodes, port.nodeId)?.outputs ?? {}, port.outputKey);
  }
}

function memberOf<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
