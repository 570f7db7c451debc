/** The configuration of a node, checked by a schema when its workflow is loaded. */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { NodeFault, NodeType } from "./node-type.ts";

/** Something that people read. */
export const TEXT = { type: "string", maxLength: 16_384 } as const;
/** Something that is called by it. */
export const NAME = { type: "string", minLength: 1, maxLength: 256 } as const;

/** Holds the configuration of a node against a schema; its faults have the node's keys. */
export function configCheck(
  compiler: SchemaCompiler,
  typeId: string,
  schema: JsonSchema,
): NonNullable<NodeType["checkNode"]> {
  const { compiled } = compiler.compile(schema, { file: typeId, key: "config" });
  return ({ config }): readonly NodeFault[] =>
    (compiled?.check(config) ?? []).map(({ path, message }) => ({
      key: `config${path.replaceAll("/", ".")}`,
      message,
    }));
}
