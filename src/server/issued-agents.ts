/**
 * Agents that the server speaks as itself, where the operator gives them no identity: a Genesis and
 * its identity document, issued once and kept in the state directory, so that the Agent-ID stays. It
 * holds no scope: what it may do beyond that is for the operator to grant.   AGTP "Agent Genesis"
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { readBoundedFile } from "../bounded-file.ts";
import type { Config } from "../config/config.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { readAgentFile } from "../identity/agent-file.ts";
import { type Ed25519PublicKey, readPublicKey } from "../identity/ed25519.ts";
import { readGenesisFile } from "../identity/genesis-file.ts";
import { isOwnerId } from "../identity/identifiers.ts";
import { issueAgent } from "../identity/issue.ts";
import { isRecord, type JsonRecord } from "../json-value.ts";
import { makeDirectory } from "../make-directory.ts";
import { isError, type Problem } from "../problem.ts";
import { reasonOf } from "../thrown.ts";

/** Who is to be issued. */
export interface IssuedAgentOptions {
  readonly name: string;
  readonly description: string;
  /** Signs what is issued now; without it a key does that is forgotten afterwards. */
  readonly signingKey: KeyObject | undefined;
}

/** The agent, and what keeps it. */
export interface IssuedAgent {
  readonly document: AgentDocument | undefined;
  readonly problems: readonly Problem[];
  /** Writes what is not written yet. */
  keep(): readonly Problem[];
}

const MAX_BYTES = 65_536;

/** The kept agent of this name, or a new one. Writes nothing before `keep`. */
export function openIssuedAgent(config: Config, options: IssuedAgentOptions): IssuedAgent {
  const place = placeOf(config, options.name);
  const kept = read(place);
  if (kept !== undefined) return { ...kept, keep: () => [] };
  const files = issue(config, options);
  const made = load(place, JSON.stringify(files.genesis), JSON.stringify(files.document));
  return { ...made, keep: () => write(place, files) };
}

interface Place {
  readonly directory: string;
  /** Absolute. */
  readonly genesis: string;
  readonly document: string;
}

function placeOf({ directory }: Config, name: string): Place {
  const stem = join(directory, ".agtp", "agents", name);
  return { directory, genesis: `${stem}.genesis.json`, document: `${stem}.agent.json` };
}

type Loaded = Pick<IssuedAgent, "document" | "problems">;

/** Undefined when nothing was kept: the document is written last. */
function read(place: Place): Loaded | undefined {
  if (!existsSync(place.document)) return undefined;
  const document = readBoundedFile(place.document, MAX_BYTES);
  const genesis = readBoundedFile(place.genesis, MAX_BYTES);
  const fault = document.fault ?? genesis.fault;
  if (document.text !== undefined && genesis.text !== undefined) {
    return load(place, genesis.text, document.text);
  }
  const file = relative(place.directory, place.document);
  return { document: undefined, problems: [{ file, key: "", message: fault ?? "is not there" }] };
}

/** Whoever can write the state directory is the server: its issuers are trusted. */
function load(place: Place, genesisText: string, documentText: string): Loaded {
  const issuers = issuersOf(genesisText);
  const born = readGenesisFile(genesisText, relative(place.directory, place.genesis), issuers);
  const file = relative(place.directory, place.document);
  const { document, problems } = readAgentFile(documentText, file, {
    genesis: born.genesis,
    trustedIssuers: issuers,
  });
  const found = [...born.problems, ...problems];
  return { document: found.some(isError) ? undefined : document, problems: found };
}

function issuersOf(genesisText: string): readonly Ed25519PublicKey[] {
  let genesis: unknown;
  try {
    genesis = JSON.parse(genesisText);
  } catch {
    // What is wrong with it is said where it is read.
    return [];
  }
  const text = isRecord(genesis) ? genesis["issuer_public_key"] : undefined;
  const issuer = typeof text === "string" ? readPublicKey(text) : undefined;
  return issuer === undefined ? [] : [issuer];
}

interface IssuedFiles {
  readonly genesis: JsonRecord;
  readonly document: JsonRecord;
}

function issue(
  { server }: Config,
  { name, description, signingKey }: IssuedAgentOptions,
): IssuedFiles {
  const { serverId, operator = serverId } = server;
  return issueAgent({
    ...{ name, description },
    ownerId: isOwnerId(serverId) ? serverId : serverId.replace(/[^A-Za-z0-9_:.-]/g, "-"),
    governanceZone: "zone:server",
    scopes: [],
    issuer: `agtp://${serverId}`,
    issuerKey: signingKey ?? generateKeyPairSync("ed25519").privateKey,
    principal: operator,
    principalId: serverId,
  });
}

function write(place: Place, { genesis, document }: IssuedFiles): readonly Problem[] {
  try {
    makeDirectory(join(place.directory, ".agtp", "agents"), 0o700);
    for (const [path, value] of [
      [place.genesis, genesis],
      [place.document, document],
    ] as const) {
      const temporary = `${path}.${process.pid}`;
      writeFileSync(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
      renameSync(temporary, path);
    }
    return [];
  } catch (error) {
    const file = relative(place.directory, place.document);
    const message = `cannot be kept, so the agent is another one after a restart: ${reasonOf(error)}`;
    return [{ file, key: "", message, severity: "warning" }];
  }
}
