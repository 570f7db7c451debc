/**
 * The complete files of a new deployment, including its keys and its first agent, so that it can
 * start with them.   AGTP "Agent Genesis"
 */

import { createPrivateKey, type KeyObject } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { makeDirectory, shippedPath } from "../../base/paths.ts";
import { shippedCatalogPath } from "../../catalog/catalog-file.ts";
import { makeKey } from "../../identity/certificate-writer.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { issueAgent, USUAL_ZONE } from "../../identity/issue.ts";
import { keyId } from "../../identity/jws.ts";
import { schemaFiles, withSchemaLines } from "../editors/schema-files.ts";
import { jsonText } from "../shell/print-json.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";
import { type Answers, ownerIdOf } from "./answers.ts";
import { readmeFile, translatedReadme } from "./readme-file.ts";
import {
  endpointFile,
  HANDLER_FILE,
  IGNORE_FILE,
  PYTHON_HANDLER_FILE,
  RECIPE_FILE,
  SAMPLE_SCOPE,
  SERVER_FILE,
  SIGNING_KEY,
  serverFile,
  translatedServerFile,
} from "./server-file.ts";
import type { Translation } from "./translate-reference.ts";

/** The unwritten files of a deployment, and the agent that they create. */
export interface NewDeployment {
  readonly files: readonly NewFile[];
  /** Undefined without an agent. */
  readonly agentId: string | undefined;
}

const MAX_SHIPPED_BYTES = 4 * 1024 * 1024;

/** Makes the files, keys included; a translated configuration gets no sample endpoints. */
export function makeDeployment(answers: Answers, found?: Translation): NewDeployment {
  const { files, agentId } = makeIdentity(answers);
  const texts = {
    ...(found === undefined
      ? sampleFiles(answers, agentId)
      : translatedFiles(answers, found, agentId)),
    ".gitignore": IGNORE_FILE,
    "catalog/methods.json": readWhole(shippedCatalogPath()),
  };
  const written = Object.entries(texts).map(([path, content]) => {
    return { path, content, isSecret: false };
  });
  return { files: [...withSchemaLines(written), ...files, ...schemaFiles()], agentId };
}

function sampleFiles(
  answers: Answers,
  agentId: string | undefined,
): Readonly<Record<string, string>> {
  return {
    [SERVER_FILE]: serverFile(answers),
    "README.md": readmeFile(answers, agentId),
    "endpoints/query-item.toml": endpointFile(answers.handlers),
    ...handlerFiles(answers),
    "recipes/compare-items.toml": RECIPE_FILE,
  };
}

function translatedFiles(
  answers: Answers,
  { tables, files, losses }: Translation,
  agentId: string | undefined,
): Readonly<Record<string, string>> {
  return {
    [SERVER_FILE]: translatedServerFile(answers, tables),
    "README.md": translatedReadme(answers, agentId, losses),
    "endpoints/README.md": "Endpoint files of the reference implementation are read as they are.\n",
    ...files,
  };
}

function handlerFiles({ handlers }: Answers): Readonly<Record<string, string>> {
  if (handlers === "javascript") return { "endpoints/items.mjs": HANDLER_FILE };
  return {
    "handlers/items.py": PYTHON_HANDLER_FILE,
    "handlers/agtp_handlers.py": readWhole(shippedPath("handlers/agtp_handlers.py")),
  };
}

function readWhole(path: string): string {
  const { text, fault } = readBoundedFile(path, MAX_SHIPPED_BYTES);
  if (text === undefined) throw new Error(`the product's own ${basename(path)} ${fault}`);
  return text;
}

/** Writes the files into an empty directory. */
export function writeDeployment({ files }: NewDeployment, directory: string): void {
  for (const { path, isSecret } of files) {
    // Why an explicit mode: whoever can write here controls code that the daemon runs.
    if (!isSecret) makeDirectory(join(directory, dirname(path)), 0o755);
  }
  writeFiles(directory, files, false);
}

function makeIdentity(answers: Answers): NewDeployment {
  const pem = makeKey("ed25519");
  const key: NewFile = { path: SIGNING_KEY, content: pem, isSecret: true };
  const { agent } = answers;
  if (agent === undefined) return { files: [key], agentId: undefined };
  const made = makeAgent(agent, answers, createPrivateKey(pem));
  return { files: [key, ...made.files], agentId: made.agentId };
}

function makeAgent(name: string, answers: Answers, issuerKey: KeyObject): NewDeployment {
  const { operator, serverId } = answers;
  const agentPem = makeKey("ed25519");
  const issued = issueAgent({
    name,
    ownerId: ownerIdOf(answers),
    principal: operator,
    principalId: serverId,
    description: `${name}, the first agent of ${serverId}.`,
    governanceZone: USUAL_ZONE,
    scopes: [SAMPLE_SCOPE],
    issuer: issuerOf(issuerKey),
    issuerKey,
    agentPublicKey: publicKeyOf(createPrivateKey(agentPem)),
  });
  return {
    agentId: issued.agentId,
    files: [
      { path: `.agtp/keys/${name}.pem`, content: agentPem, isSecret: true },
      asJson(`agents/${name}.genesis.json`, issued.genesis),
      asJson(`agents/${name}.agent.json`, issued.document),
    ],
  };
}

function issuerOf(key: KeyObject): string {
  const publicKey = publicKeyOf(key);
  return `urn:agtp:issuer:${publicKey === undefined ? "" : keyId(publicKey)}`;
}

function asJson(path: string, document: unknown): NewFile {
  return { path, content: jsonText(document), isSecret: false };
}
