/** The button that verifies a chain in this browser, the result, and the export. */
import type { ChainPage } from "../../answers.ts";
import { asApiError, session } from "../api.ts";
import { isObject } from "../parts/call-view.ts";
import { say } from "../parts/page.ts";
import { html, useEffect, useRef, useState, type VNode } from "../preact.ts";
import { countText, visible } from "../text.ts";
import { type Keys, keep, readKept } from "./keys.ts";
import { ChainWay, fetchChain } from "./use-chain.ts";
import { type ChainReport, reportText, type SeenRecord, verifyChain } from "./verify-chain.ts";

type Outcome =
  | { readonly kind: "under-way"; readonly records: number }
  | { readonly kind: "failed"; readonly text: string }
  | { readonly kind: "done"; readonly report: ChainReport };

/** Records per page when all are fetched. */
const MOST = 1_000;

/** Verifies and exports one chain. */
export function VerifyPanel(props: {
  readonly agentId: string;
  readonly keys: Keys;
  /** Called with every fetched page. */
  readonly onPage: (page: ChainPage) => void;
  /** Called with the result. */
  readonly onReport: (report: ChainReport) => void;
}): VNode {
  const { agentId, keys, onPage, onReport } = props;
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const isBusy = outcome?.kind === "under-way";
  // Pinning a key moves the focus to the button, since verifying is the reason to pin it.
  const button = useRef<HTMLElement | null>(null);
  const pinned = useRef(keys.pins.length);
  useEffect(() => {
    if (keys.pins.length > pinned.current) button.current?.focus();
    pinned.current = keys.pins.length;
  }, [keys.pins.length]);
  const verify = (): void => {
    if (isBusy || keys.offered === undefined) return;
    setOutcome({ kind: "under-way", records: 0 });
    const onProgress = (records: number): void => setOutcome({ kind: "under-way", records });
    const tell = (walked: Outcome): void => {
      setOutcome(walked);
      if (walked.kind === "done") onReport(walked.report);
    };
    walk(agentId, keys, { onProgress, onPage }).then(tell, (error: unknown) =>
      setOutcome({ kind: "failed", text: asApiError(error).message }),
    );
  };
  return html`<div class="buttons">
      <button type="button" class="good" aria-disabled=${isBusy || keys.offered === undefined ? "true" : undefined} ref=${button} onClick=${verify}>Verify chain</button>
      <button type="button" onClick=${() => void save(agentId)}>Export chain</button>
    </div>
    <div role="status" aria-live="polite">${outcome && html`<${Result} outcome=${outcome} />`}</div>`;
}

function Result({ outcome }: { readonly outcome: Outcome }): VNode {
  switch (outcome.kind) {
    case "under-way":
      return html`<p class="quiet">Checked ${countText(outcome.records)}…</p>`;
    case "failed":
      return html`<p class="warning">${visible(outcome.text)}</p>`;
    case "done":
      return html`<p class=${outcome.report.broken ? "warning long" : "done"}>${visible(reportText(outcome.report))}</p>`;
  }
}

interface Listening {
  readonly onProgress: (records: number) => void;
  readonly onPage: (page: ChainPage) => void;
}

async function walk(
  agentId: string,
  { pins, offered = [] }: Keys,
  { onProgress, onPage }: Listening,
): Promise<Outcome> {
  if (globalThis.crypto?.subtle === undefined) {
    return { kind: "failed", text: "This browser verifies over HTTPS or on localhost only." };
  }
  if (pins.length === 0 && offered.length > 0) {
    return { kind: "failed", text: "No key is pinned in this browser: pin one first." };
  }
  const serverId = session().server_id;
  const trustedHead = knownHead(serverId, agentId);
  const fetch = async (from: string | undefined): Promise<ChainPage> => {
    const page = await fetchChain(agentId, from === undefined ? {} : { from }, MOST);
    onPage(page);
    return page;
  };
  const report = await verifyChain({ agentId, keys: pins, trustedHead, fetch, onProgress });
  const { broken, newest } = report;
  if (broken === undefined && newest !== undefined) rememberHead(serverId, agentId, newest);
  return { kind: "done", report };
}

async function save(agentId: string): Promise<void> {
  try {
    saveFile(`chain-${agentId.slice(0, 12)}.jws`, await chainFile(agentId));
  } catch (error) {
    say(`Export failed: ${asApiError(error).message}`, true);
  }
}

/** Writes a chain for `agtp-keys verify`: every record that the daemon still has, one per line, oldest first. */
async function chainFile(agentId: string): Promise<Blob> {
  const lines: string[] = [];
  const way = new ChainWay();
  for (let start = way.next; start !== undefined; start = way.next) {
    const page = await fetchChain(agentId, start, MOST);
    lines.push(...page.records.map(({ jws }) => `${jws}\n`));
    way.goOn(page);
  }
  return new Blob(lines.toReversed(), { type: "application/octet-stream" });
}

function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const AUDIT_ID = /^[0-9a-f]{64}$/;

/**
 * Returns the newest record of a chain verified earlier in this browser, if there is one. A truncated chain is still
 * valid; only a remembered record shows that its end is gone.
 */
function knownHead(serverId: string, agentId: string): SeenRecord | undefined {
  const kept = readHeads(serverId)[agentId];
  const { auditId, issuedAt } = isObject(kept) ? kept : {};
  const isWhole = typeof auditId === "string" && AUDIT_ID.test(auditId);
  return isWhole && typeof issuedAt === "string" ? { auditId, issuedAt } : undefined;
}

/** Stores the newest record of a valid chain. */
function rememberHead(serverId: string, agentId: string, head: SeenRecord): void {
  keep("heads", serverId, { ...readHeads(serverId), [agentId]: head });
}

function readHeads(serverId: string): Readonly<Record<string, unknown>> {
  const kept = readKept("heads", serverId);
  return isObject(kept) ? kept : {};
}
