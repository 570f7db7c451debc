import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/paced.ts";
import { creatingAgentDirectory } from "../../src/identity/agent-directory.ts";
import type { AgentDocument } from "../../src/identity/agent-document.ts";
import { readAgentFile } from "../../src/identity/agent-file.ts";
import { readGenesisFile } from "../../src/identity/genesis.ts";
import { AGENT, DOCUMENT, DRAFT, ISSUER, type Members, signGenesis } from "../support/genesis.ts";

const CERTIFICATE = "c1".repeat(32);
const OTHER = "00".repeat(32);

function agent(name: string, members: Members = {}, birth?: Members): AgentDocument {
  const unborn = { ...DOCUMENT, name, agent_id: name.charCodeAt(0).toString(16).repeat(32) };
  if (birth === undefined)
    return readAgentFile(JSON.stringify({ ...unborn, ...members }), name).document!;
  const signed = signGenesis({ ...DRAFT, name, ...birth });
  const { genesis } = readGenesisFile(JSON.stringify(signed), name, [ISSUER.publicKey]);
  const document = { ...unborn, ...members, agent_id: genesis?.agentId };
  return readAgentFile(JSON.stringify(document), name, { genesis }).document!;
}

describe("creatingAgentDirectory", () => {
  const max = agent("max");
  const lauren = agent("lauren");
  const directory = atOnce(creatingAgentDirectory([max, lauren]));

  it("finds agents by Agent-ID, by name, and by either", () => {
    expect(directory.find(max.agentId)).toBe(max);
    expect(directory.findByName("lauren")).toBe(lauren);
    expect(directory.resolve("lauren")).toBe(lauren);
    expect(directory.resolve(lauren.agentId)).toBe(lauren);
    expect(directory.list()).toEqual([max, lauren]);
  });

  it.each(["", "laurel", "__proto__", "constructor", OTHER])("does not know %j", (text) => {
    expect(directory.find(text)).toBeUndefined();
    expect(directory.findByName(text)).toBeUndefined();
    expect(directory.resolve(text)).toBeUndefined();
  });

  it("takes a name in any case, unless another name differs in it alone", () => {
    expect(directory.findByName("LaurEN")).toBe(lauren);
    expect(directory.resolve("MAX")).toBe(max);
    const other = { ...max, agentId: OTHER, name: "Max" };
    const both = atOnce(creatingAgentDirectory([max, other]));
    expect(both.findByName("Max")).toBe(other);
    expect(both.resolve("max")).toBe(max);
    expect(both.resolve("MAX")).toBeUndefined();
  });

  it("does not take an Agent-ID for a name, nor a name for an Agent-ID", () => {
    expect(directory.find("max")).toBeUndefined();
    expect(directory.findByName(max.agentId)).toBeUndefined();
    const impostor = { ...lauren, name: max.agentId };
    expect(atOnce(creatingAgentDirectory([impostor, max])).resolve(max.agentId)).toBe(max);
  });
});

describe("findByCertificate", () => {
  const keyFingerprint = AGENT.publicKey.fingerprint;
  const named = agent("named", { cert_fingerprint: CERTIFICATE });
  const keyed = agent("keyed", {}, { agent_public_key: AGENT.pem });
  const find = (documents: readonly AgentDocument[], fingerprint: string, key: string) =>
    atOnce(creatingAgentDirectory(documents)).findByCertificate({
      fingerprint,
      keyFingerprint: key,
    });

  it("finds the agent whose document names the certificate", () => {
    expect(find([named, keyed], CERTIFICATE, OTHER)).toBe(named);
  });

  it("finds the agent whose Genesis names the certificate's key", () => {
    expect(find([named, keyed], OTHER, keyFingerprint)).toBe(keyed);
  });

  it("finds an agent that both lead to", () => {
    const both = agent("both", { cert_fingerprint: CERTIFICATE }, { agent_public_key: AGENT.text });
    expect(find([both, agent("plain")], CERTIFICATE, keyFingerprint)).toBe(both);
  });

  it("finds nobody where nothing matches, or more than one agent does", () => {
    expect(find([named, keyed], OTHER, OTHER)).toBeUndefined();
    expect(find([named, keyed], CERTIFICATE, keyFingerprint)).toBeUndefined();
    const twin = agent("twin", { cert_fingerprint: CERTIFICATE });
    expect(find([named, twin], CERTIFICATE, OTHER)).toBeUndefined();
    const sharer = agent("sharer", {}, { agent_public_key: AGENT.text });
    expect(find([keyed, sharer], OTHER, keyFingerprint)).toBeUndefined();
    expect(find([], CERTIFICATE, keyFingerprint)).toBeUndefined();
  });

  it("does not confuse a certificate's fingerprint with a key's", () => {
    expect(find([named, keyed], keyFingerprint, CERTIFICATE)).toBeUndefined();
  });
});
