/** A chain as a file: one record a line, the oldest first, as `agtp-keys verify` reads it. */
import { ChainWay, fetchChain } from "./use-chain.ts";

const MOST = 1_000;

/** Every record that the daemon still has of a chain, in the order in which they were made. */
export async function chainFile(agentId: string): Promise<Blob> {
  const lines: string[] = [];
  const way = new ChainWay();
  for (let start = way.next; start !== undefined; start = way.next) {
    const page = await fetchChain(agentId, start, MOST);
    lines.push(...page.records.map(({ jws }) => `${jws}\n`));
    way.goOn(page);
  }
  return new Blob(lines.toReversed(), { type: "application/octet-stream" });
}

/** Lets the browser keep a file. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
