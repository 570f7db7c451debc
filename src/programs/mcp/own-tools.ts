/** The tools of `agtp-mcp` itself; a server's tool of such a name takes its place. */
import {
  APPROVED_CALL,
  APPROVED_CALL_TOOL,
} from "../../modules/mcp/contracts/approved-call-tool.ts";
import { PROPOSE, PROPOSE_AT_ONCE } from "../../modules/mcp/contracts/propose-tool.ts";
import { withOutput } from "../../modules/mcp/tools/tool-description.ts";
import type { ListedTool } from "../../modules/mcp/tools/toolbox.ts";

/** The tools, as clients are shown them. */
export const OWN_TOOLS: readonly ListedTool[] = [
  { name: APPROVED_CALL, description: withOutput(APPROVED_CALL_TOOL, {}) },
  { name: PROPOSE, description: withOutput(PROPOSE_AT_ONCE, {}) },
];

/** The names of the program's own tools. */
export const OWN_NAMES: ReadonlySet<string> = new Set(OWN_TOOLS.map(({ name }) => name));
