/**
 * The demands of a contract that a daemon cannot hold a program to: it confines no process. Such a
 * task is refused, whoever asks.   agentcli spec "Contract"
 */
import type { MergedContract } from "./merge-governance.ts";

/** The first of its rules that no run here would be held to. */
export function findUnenforceable({
  sandbox,
  network,
  allowed_paths,
}: Pick<MergedContract, "sandbox" | "network" | "allowed_paths">): string | undefined {
  if (sandbox === "strict") return 'sandbox "strict"';
  if (network !== null && network !== "unrestricted") return `network "${network}"`;
  return allowed_paths === null ? undefined : "allowed_paths";
}
