/**
 * The keys of a new deployment, and its first agent: the server's signing key, and where an agent is
 * wanted its own key, its Genesis and its identity document.   AGTP "Agent Genesis"
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { makeKey } from "../../identity/certificate-keys.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { issueAgent } from "../../identity/issue.ts";
import { keyId } from "../../identity/jws.ts";
import type { NewFile } from "../shell/write-files.ts";
import { type Answers, ownerIdOf } from "./answers.ts";
import { SAMPLE_SCOPE } from "./sample-files.ts";
import { SIGNING_KEY } from "./server-file.ts";

/** Files, and whom they make. */
export interface Identity {
  readonly files: readonly NewFile[];
  /** Undefined without an agent. */
  readonly agentId: string | undefined;
}

/** Makes the keys, and the agent. */
export function makeIdentity(answers: Answers): Identity {
  const pem = makeKey("ed25519");
  const key: NewFile = { path: SIGNING_KEY, content: pem, isSecret: true };
  const { agent } = answers;
  if (agent === undefined) return { files: [key], agentId: undefined };
  const made = makeAgent(agent, answers, createPrivateKey(pem));
  return { files: [key, ...made.files], agentId: made.agentId };
}

function makeAgent(name: string, answers: Answers, issuerKey: KeyObject): Identity {
  const { operator, serverId } = answers;
  const agentPem = makeKey("ed25519");
  const issued = issueAgent({
    name,
    ownerId: ownerIdOf(answers),
    principal: operator,
    principalId: serverId,
    description: `${name}, the first agent of ${serverId}.`,
    governanceZone: "zone:default",
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
  return { path, content: `${JSON.stringify(document, undefined, 2)}\n`, isSecret: false };
}
