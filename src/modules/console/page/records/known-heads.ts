/**
 * The newest record of each chain that was verified in this browser. A chain that was cut is still a
 * chain; only who remembers a record of it sees that it is gone.
 */
type Heads = Readonly<Record<string, string>>;

const AUDIT_ID = /^[0-9a-f]{64}$/;

/** The newest record that was verified; undefined where none was yet. */
export function knownHead(serverId: string, agentId: string): string | undefined {
  const head: unknown = readHeads(serverId)[agentId];
  return typeof head === "string" && AUDIT_ID.test(head) ? head : undefined;
}

/** Remembers the newest record of a chain that holds. */
export function rememberHead(serverId: string, agentId: string, head: string): void {
  const heads = { ...readHeads(serverId), [agentId]: head };
  localStorage.setItem(placeOf(serverId), JSON.stringify(heads));
}

function readHeads(serverId: string): Heads {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(placeOf(serverId)) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Heads) : {};
  } catch {
    return {};
  }
}

function placeOf(serverId: string): string {
  return `agtpd.heads.${serverId}`;
}
