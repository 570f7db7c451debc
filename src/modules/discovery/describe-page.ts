/**
 * An identity document as a page for people. The document's author is not trusted: every text is escaped, and the page
 * has no script, no link and no external resource.   AGTP "URI Forms"
 */
import { htmlText } from "../../base/html-text.ts";
import { isRecord } from "../../base/json-value.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";

/** Sections of the page, and the members of the document that they show. */
const SECTIONS: readonly { readonly title: string; readonly members: readonly string[] }[] = [
  {
    title: "Accountability",
    members: [
      ...["principal", "principal_id", "owner_id", "org_domain", "governance_zone", "role"],
      ...["issuer", "issued_at", "updated_at"],
    ],
  },
  {
    title: "What it can do",
    members: [
      ...["capabilities", "skills", "modalities", "tools", "methods", "requires"],
      ...["scopes_accepted", "zones_accepted", "budget_units_accepted"],
    ],
  },
  {
    title: "Trust",
    members: [
      ...["trust_tier", "verification_path", "trust_warning", "trust_explanation"],
      ...["trust_score", "trust_score_computed_at", "trust_score_dimensions"],
      ...["cert_fingerprint", "cert_status"],
    ],
  },
  {
    title: "Signature",
    members: ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"],
  },
];
const IN_HEADER = ["agent_id", "name", "description", "status"];
const IN_SECTIONS: ReadonlySet<string> = new Set([
  ...IN_HEADER,
  ...SECTIONS.flatMap(({ members }) => members),
]);

/** The page of an agent; `status` is the current one, whatever the document says. */
export function identityPage(agent: AgentDocument, status: AgentStatus): string {
  const { document, name } = agent;
  const others = Object.keys(document).filter((member) => !IN_SECTIONS.has(member));
  const sections = [...SECTIONS, { title: "Also in the document", members: others }];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(name)} · Agent Identity Document</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
${header(agent, status)}
${sections.map(({ title, members }) => section(title, members, document)).join("")}</main>
<footer>
<p>This page renders the document for reading. Signatures are over its JSON form, which is served as
<code>application/vnd.agtp.identity+json</code>.</p>
</footer>
</body>
</html>
`;
}

function header(agent: AgentDocument, status: AgentStatus): string {
  const { agentId, name, description, trustTier, verificationPath, trustWarning } = agent;
  const warning =
    trustWarning === undefined ? "" : `\n<li class="warning">${escapeText(trustWarning)}</li>`;
  return `<header>
<p class="kind">Agent Identity Document</p>
<h1><bdi>${escapeText(name)}</bdi></h1>
<p class="description"><bdi>${escapeText(description)}</bdi></p>
<ul class="standing" aria-label="Standing">
<li class="${status}">${status}</li>
<li>trust tier ${trustTier}</li>
<li>${escapeText(verificationPath)}</li>${warning}
</ul>
<dl><dt>Agent-ID</dt><dd><code>${escapeText(agentId)}</code></dd></dl>
</header>`;
}

function section(
  title: string,
  members: readonly string[],
  document: AgentDocument["document"],
): string {
  const present = members.filter((member) => (document[member] ?? undefined) !== undefined);
  if (present.length === 0) return "";
  return `<section>
<h2>${title}</h2>
${list(present.map((member) => [member, document[member]]))}
</section>
`;
}

function list(entries: readonly (readonly [string, unknown])[]): string {
  const items = entries.map(
    ([name, value]) => `<dt>${escapeText(label(name))}</dt><dd>${render(value)}</dd>`,
  );
  return `<dl>\n${items.join("\n")}\n</dl>`;
}

/** Renders a value; the depth of documents is bounded on loading. */
function render(value: unknown): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '<span class="none">none</span>';
    const isPlain = value.every((item) => typeof item !== "object" || item === null);
    const items = value.map((item: unknown) => `<li>${render(item)}</li>`).join("");
    return `<ul${isPlain ? ' class="words"' : ""}>${items}</ul>`;
  }
  if (isRecord(value)) return list(Object.entries(value));
  const text = String(value);
  return OPAQUE.test(text) ? `<code>${escapeText(text)}</code>` : `<bdi>${escapeText(text)}</bdi>`;
}

/** Keys, hashes and signatures: long texts without spaces. */
const OPAQUE = /^[\x21-\x7e]{40,}$/;

/** Turns `principal_id` into "Principal id". */
function label(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Escapes a text for HTML, and replaces control characters. */
function escapeText(text: string): string {
  return htmlText(text).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "\ufffd");
}

/** The style of the page, in light and in dark. */
const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #1d2127; --faint: #5d6673; --line: #e3e0da;
  --accent: #1f5fae; --good: #1b6e3c; --warn: #8a5a00; --bad: #a12a2a; --word: #f1efeb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --card: #1b1f25; --ink: #e6e8eb; --faint: #9aa4b1; --line: #2d333b;
    --accent: #7db4f5; --good: #6fcf97; --warn: #e2b25b; --bad: #f08c8c; --word: #262c34;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2.5rem 1.25rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main, footer { max-width: 46rem; margin: 0 auto; }
header { margin-bottom: 2rem; }
.kind {
  margin: 0; color: var(--accent); font-size: .8rem; font-weight: 600;
  letter-spacing: .08em; text-transform: uppercase;
}
h1 { margin: .25rem 0 .5rem; font-size: 2.2rem; line-height: 1.15; overflow-wrap: anywhere; }
h2 { margin: 0 0 1rem; font-size: 1.05rem; }
.description { margin: 0 0 1rem; color: var(--faint); font-size: 1.1rem; overflow-wrap: anywhere; }
section {
  margin: 0 0 1rem; padding: 1.25rem 1.5rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .75rem;
}
dl { display: grid; grid-template-columns: minmax(8rem, 12rem) 1fr; gap: .6rem 1.25rem; margin: 0; }
dt { color: var(--faint); overflow-wrap: anywhere; }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
header dl { grid-template-columns: 5rem 1fr; }
dd dl { grid-template-columns: minmax(5rem, 9rem) 1fr; }
code { font: .86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; word-break: break-all; }
ul { margin: 0; padding-left: 1.1rem; }
dd > ul:not(.words) > li + li { margin-top: .6rem; }
.standing, .words { display: flex; flex-wrap: wrap; gap: .4rem; padding: 0; list-style: none; }
.standing { margin-bottom: 1.25rem; }
.standing li {
  padding: .1rem .7rem; border: 1px solid var(--line); border-radius: 1rem;
  color: var(--faint); font-size: .88rem;
}
.standing .active { border-color: currentColor; color: var(--good); font-weight: 600; }
.standing .deprecated, .standing .suspended, .standing .warning {
  border-color: currentColor; color: var(--warn);
}
.standing .retired { border-color: currentColor; color: var(--bad); font-weight: 600; }
.words li { padding: 0 .55rem; background: var(--word); border-radius: .4rem; font-size: .92rem; }
.none { color: var(--faint); }
footer { margin-top: 1.5rem; color: var(--faint); font-size: .85rem; }
@media (max-width: 34rem) {
  body { padding: 1.5rem 1rem; }
  section { padding: 1rem; }
  dl, header dl, dd dl { grid-template-columns: 1fr; gap: .1rem; }
  dd { margin-bottom: .6rem; }
}
`;
