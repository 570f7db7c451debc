/** The agents that a deployment knows, by which keys, and where they stand.   AGTP "Identity" */
import type { KeyObject } from "node:crypto";
import { relative } from "node:path";
import { readBoundedFile } from "../base/bounded-file.ts";
import type { Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { readPrivateKey } from "../identity/ed25519.ts";
import { loadingAgents } from "../identity/load-agents.ts";
import { readTrustedIssuers } from "../identity/trusted-issuers.ts";
import type { Config } from "./config/config.ts";
import { type OpenedVerifier, openTokenVerifier } from "./jwks/verifier.ts";

/** The configuration's check has made sure that a key that is named can be read. */
export function loadSigningKey({ signing: { key } }: Config): KeyObject | undefined {
  if (key === undefined) return undefined;
  const { text } = readBoundedFile(key, MAX_KEY_BYTES);
  return text === undefined ? undefined : readPrivateKey(text);
}

const MAX_KEY_BYTES = 65_536;

/** Undefined where `[policies.oauth]` is not configured. */
export async function openTokens(
  { policies: { oauth }, directory, file }: Config,
  log: Pick<CallLog, "info" | "warn">,
): Promise<OpenedVerifier | undefined> {
  if (oauth === undefined) return undefined;
  return openTokenVerifier({ oauth, file: relative(directory, file), log });
}

/** Its standing is shown to everybody, so it must be one that everybody may learn of. */
export function defaultAgent(
  { agents }: Config,
  directory: AgentDirectory,
): AgentDocument | undefined {
  if (agents.default === undefined || agents.disclosure !== "public") return undefined;
  return directory.resolve(agents.default);
}

/** The operator's agents, one a step; undefined when the configuration's own keys cannot be read. */
export function* loadingOperatorAgents(
  config: Config,
  problems: Problem[],
): Paced<readonly AgentDocument[] | undefined> {
  const issuers = readTrustedIssuers({
    trustedIssuers: config.policies.identity.trustedIssuers,
    signingKey: config.signing.key,
    file: relative(config.directory, config.file),
  });
  const { documents, problems: found } = yield* loadingAgents({
    directory: config.directory,
    agentsDir: config.agents.dir,
    trustedIssuers: issuers.keys,
  });
  problems.push(...issuers.problems, ...found);
  return issuers.problems.some(isError) ? undefined : documents;
}

/** The fault of the agent that is addressed where a request names none. */
export function checkDefaultAgent(
  { agents, directory, file }: Config,
  known: AgentDirectory,
): readonly Problem[] {
  const name = agents.default;
  if (name === undefined || known.resolve(name) !== undefined) return [];
  const message = `no agent is called "${name}"`;
  return [{ file: relative(directory, file), key: "agents.default", message, severity: "warning" }];
}
