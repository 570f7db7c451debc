/** The resources of a server: where each is, and how clients are told of it.   MCP "Resources" */
import type { Resource } from "@modelcontextprotocol/server";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";

const JSON_TYPE = "application/json";

interface Described {
  /** Of DISCOVER. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

const DESCRIBED: readonly Described[] = [
  {
    ...{ path: "/", name: "manifest", mimeType: MANIFEST_TYPE },
    description: "The server's manifest: endpoints, methods, agents and policies.",
  },
  {
    ...{ path: "/contracts", name: "contracts", mimeType: JSON_TYPE },
    description: "The contracts that this client has.",
  },
  {
    ...{ path: "/patterns", name: "recipes", mimeType: JSON_TYPE },
    description: "The recipes by which contracts are made.",
  },
];

/** The resources of a server. */
export function listResources(serverId: string): Resource[] {
  return DESCRIBED.map(({ path, name, description, mimeType }) => ({
    ...{ uri: `agtp://${serverId}${path}`, name, description, mimeType },
  }));
}

/** The one that a URI names. */
export function findResource(serverId: string, uri: string): Described | undefined {
  return DESCRIBED.find(({ path }) => uri === `agtp://${serverId}${path}`);
}
