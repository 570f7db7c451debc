/** A waiting call for a person to read: the endpoint, the input, and the differences to the last approved call. */
import type { Escalation } from "../../answers.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { jsonText, visible } from "../text.ts";
import { AgentLink, type Fact, Facts, LongId, Moment, Stranger } from "./facts.ts";
import { Section } from "./page.ts";

/** Members that differ in every call and are left out of the differences. */
const EVER_NEW: ReadonlySet<string> = new Set(["nonce", "expires_at"]);

/** Placeholder of an input that a viewer may not see. */
const CONCEALED = "[operators only]";

/** The call, and its differences to the last approved one. */
export function CallView(props: {
  readonly call: ApprovedCall;
  readonly lastApproved: Escalation | null;
  readonly agentName: string | undefined;
  /** True if the call cannot be made under an approval, or no longer. */
  readonly isOver: boolean;
}): VNode {
  const { call, lastApproved, agentName, isOver } = props;
  return html`<${Section} title="Input">${inputOf(call["input"])}<//>
    <${Section} title="New since the last approved call">${newsOf(call, lastApproved)}<//>
    <${Section} title="The call"><${Facts} facts=${factsOf(call, agentName, isOver)} /><//>`;
}

function factsOf(
  call: ApprovedCall,
  agentName: string | undefined,
  isOver: boolean,
): readonly Fact[] {
  const { agent, principal } = call as { agent?: unknown; principal?: unknown };
  return [
    [
      "Calls",
      html`<strong><${Stranger} text=${call["method"]} /> <${Stranger} text=${call["path"]} /></strong>`,
    ],
    ["As", html`<${AgentLink} id=${typeof agent === "string" ? agent : null} name=${agentName} />`],
    ["For", principal === null ? "nobody else" : html`<${Stranger} text=${principal} />`],
    [
      "Good until",
      isOver ? undefined : html`<${Moment} at=${String(call["expires_at"])} isWhole />`,
    ],
    ["Endpoint's version", html`<${LongId} id=${String(call["endpoint_version"])} />`],
    ["Policy's version", html`<${LongId} id=${String(call["policy_version"])} />`],
  ];
}

/** Shows each member of the input on a line; nested values as JSON. */
function inputOf(input: unknown): VNode {
  if (!isObject(input)) return html`<p class="value">${valueText(input)}</p>`;
  const entries = Object.entries(input);
  if (entries.length === 0) return html`<p class="quiet">The call has no input.</p>`;
  return html`<dl class="facts input">
    ${entries.map(
      ([name, value], index) => html`<div key=${index}>
        <dt><${Stranger} text=${name} /></dt><dd class="value"><bdi>${valueText(value)}</bdi></dd>
      </div>`,
    )}
  </dl>`;
}

function newsOf(call: ApprovedCall, lastApproved: Escalation | null): VNode {
  const before = lastApproved === null ? undefined : callOf(lastApproved);
  if (before === undefined || lastApproved === null) {
    return html`<p>No call to this endpoint was approved before.</p>`;
  }
  if (call["input"] === CONCEALED) return html`<p>Operators see what is new.</p>`;
  const found = differencesOf(comparable(before), comparable(call));
  const link = html`<p class="quiet">Compared with <a href=${address("approvals", lastApproved.escalation_id)}>the last approved call</a>, <${Moment} at=${lastApproved.decision?.timestamp} />.</p>`;
  if (found.length === 0) return html`<p>Nothing: it is the same call again.</p>${link}`;
  return html`<ul class="differences">${found.map(differenceOf)}</ul>${link}`;
}

/** One difference: its JSON pointer and both values. */
export function differenceOf({ pointer, before, after }: Difference): VNode {
  return html`<li key=${pointer}>
    <code><${Stranger} text=${pointer} /></code>
    ${before === undefined ? html`<span class="quiet">was not there</span>` : html`<del><bdi>${valueText(before)}</bdi></del>`}
    ${after === undefined ? html`<span class="quiet">is gone</span>` : html`<ins><bdi>${valueText(after)}</bdi></ins>`}
  </li>`;
}

function comparable(call: ApprovedCall): ApprovedCall {
  return Object.fromEntries(Object.entries(call).filter(([name]) => !EVER_NEW.has(name)));
}

/** Strings that could be mistaken for another JSON value. */
const AMBIGUOUS = /^(?:|\s.*|.*\s|-?[\d.]+(?:[eE][+-]?\d+)?|true|false|null|["[{].*)$/s;

/** Writes strings as they are, unless they are ambiguous, and everything else as JSON. */
function valueText(value: unknown): string {
  return typeof value === "string" && !AMBIGUOUS.test(value) ? visible(value) : jsonText(value);
}

/** A place in which two values differ; a side is undefined if it has no value there. */
interface Difference {
  readonly pointer: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Lists the differences in the order of the later value's members. */
function differencesOf(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    return differencesOf({ ...before }, { ...after }, pointer);
  }
  if (!isObject(before) || !isObject(after)) {
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    return isSame ? [] : [{ pointer: pointer === "" ? "/" : pointer, before, after }];
  }
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name) =>
    differencesOf(own(before, name), own(after, name), `${pointer}/${escapedName(name)}`),
  );
}

function own(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function escapedName(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The approved call in the form of which the digest is taken. */
export type ApprovedCall = Readonly<Record<string, unknown>>;

/** Returns the waiting call; an agent's own escalation has no kind, whatever its context says. */
export function callOf({ kind, context }: Escalation): ApprovedCall | undefined {
  const call = kind !== undefined && isObject(context) ? context["call"] : undefined;
  return isObject(call) ? call : undefined;
}

/** Describes an escalation in one line. */
export function subjectOf(escalation: Escalation): string {
  const call = callOf(escalation);
  if (call !== undefined) return `${String(call["method"])} ${String(call["path"])}`;
  const { kind = "question", reason } = escalation;
  return reason === undefined ? kind : `${kind}: ${reason.replaceAll("_", " ")}`;
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON object that a person wrote; empty text gives an empty object, and anything else undefined. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Matches the strings and numbers of JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const INTEGER = /^-?\d{16,}$/;
const MOST_QUOTED = 40;

/** Names a number in JSON that a person wrote which the browser cannot send exactly. */
export function lossIn(json: string): string | undefined {
  for (const [token] of json.matchAll(TOKENS)) {
    if (token.startsWith('"') || !isLost(token)) continue;
    return `${token.slice(0, MOST_QUOTED)} cannot be kept to the digit: write it as a text, if one is taken`;
  }
  return undefined;
}

function isLost(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return true;
  return INTEGER.test(token) && !Number.isSafeInteger(number) && String(number) !== token;
}
