/**
 * Drafts an endpoint's semantic block from a document's prose, with a remark for each value that a
 * person has to review. HTTP says nothing about impact, so that is always one of them.   AGTP-API §7.1, §14.1
 */
import type { Catalog } from "../catalog/catalog.ts";
import {
  CAPABILITIES,
  type Capability,
  type Impact,
  type SemanticBlock,
} from "../endpoint/endpoint.ts";
import { isReading } from "./http-form.ts";
import type { Operation } from "./operations.ts";
import { firstSentence, singular, wordsOf } from "./words.ts";

interface SemanticDraft {
  readonly semantic: SemanticBlock;
  readonly doubts: ReadonlyMap<keyof SemanticBlock, string>;
}

interface SemanticSource {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly catalog: Catalog;
  /** The document's description of the success response. */
  readonly answer: string;
  /** True if another operation undoes this one. */
  readonly isUndone: boolean;
}

const MAX_TEXT = 240;
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const SAYS_NOTHING =
  /^(?:ok|okay|success(?:ful)?|successful (?:operation|response|request)|default response|created|accepted|no content|done|response|200|201|202|204|a successful response|the request (?:was|is|has) succe\w+)?\.?$/i;

/** Verbs at the beginning of summaries that are not methods. */
const PROSE_VERBS: ReadonlySet<string> = new Set([
  ...["add", "allow", "delete", "get", "give", "make", "post", "put", "return", "send", "show"],
  ...["upload", "use"],
]);

/** One sentence about an operation: from its summary, else its description, else its name. */
export function describeOperation(
  { raw, id, httpMethod, path }: Operation,
  catalog: Catalog,
): {
  readonly text: string;
  readonly isTold: boolean;
} {
  for (const source of [raw["summary"], raw["description"]]) {
    const text = typeof source === "string" ? firstSentence(source, MAX_TEXT) : "";
    if (text !== "") return { text: asSentence(imperative(text, catalog)), isTold: true };
  }
  const words = wordsOf(id ?? "").join(" ");
  return { text: asSentence(words || `${httpMethod} ${path}`), isTold: false };
}

/** Drafts the block for an operation with its assigned method and path. */
export function draftSemantic(source: SemanticSource): SemanticDraft {
  const { operation, method, catalog, answer } = source;
  const { text: intent, isTold } = describeOperation(operation, catalog);
  const doubts = new Map<keyof SemanticBlock, string>();
  if (!isTold) doubts.set("intent", "the document says nothing about it");
  const outcome = firstSentence(answer, MAX_TEXT);
  const hasOutcome = !SAYS_NOTHING.test(outcome);
  doubts.set(
    "outcome",
    hasOutcome ? "taken from the response" : "drafted from the method and the path",
  );
  const { impact, why } = draftImpact(source);
  doubts.set("impact", why);
  return {
    semantic: {
      intent,
      actor: "agent",
      outcome: hasOutcome ? asSentence(outcome) : draftOutcome(source),
      capability: capabilityOf(method, catalog),
      confidence: 0.8,
      impact,
      is_idempotent: IDEMPOTENT.has(operation.httpMethod),
    },
    doubts,
  };
}

function draftImpact({ operation, isUndone }: SemanticSource): {
  readonly impact: Impact;
  readonly why: string;
} {
  const { httpMethod } = operation;
  if (isReading(httpMethod)) {
    return { impact: "informational", why: `${httpMethod} should change nothing` };
  }
  if (isUndone) return { impact: "reversible", why: "DELETE below this path may take it back" };
  if (httpMethod === "PUT" || httpMethod === "PATCH") {
    return { impact: "reversible", why: `${httpMethod} may be undone by the earlier values` };
  }
  return { impact: "irreversible", why: `the strictest there is, ${httpMethod} tells nothing` };
}

function draftOutcome({ operation, method, path }: SemanticSource): string {
  const isOne = /\}$/.test(path);
  const literals = path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"));
  const noun = wordsOf(literals.at(-1) ?? "resource").join(" ") || "resource";
  const subject = isOne ? `The ${singular(noun)}` : `The result for ${noun}`;
  if (isReading(operation.httpMethod)) return `${subject} is returned.`;
  if (operation.httpMethod === "DELETE") return `${subject} is gone.`;
  return `${subject} stands as ${method} leaves it.`;
}

/** The method's first category that is a capability.   AGTP-API §7.1 */
function capabilityOf(method: string, catalog: Catalog): Capability {
  const categories = catalog.verbs.get(method)?.categories ?? [];
  const known: readonly string[] = CAPABILITIES;
  return (categories.find((category) => known.includes(category)) ?? "mechanics") as Capability;
}

/** Puts an intent in imperative form: "Returns a pet" becomes "Return a pet".   AGTP-API §7.1 */
function imperative(text: string, catalog: Catalog): string {
  const [first = ""] = /^[A-Z][a-z]+s(?= )/.exec(text) ?? [];
  const forms = [first.slice(0, -1), first.slice(0, -2), `${first.slice(0, -3)}y`];
  const isVerb = (form: string): boolean =>
    catalog.has(form.toUpperCase()) || PROSE_VERBS.has(form.toLowerCase());
  const verb = first === "" ? undefined : forms.find(isVerb);
  return verb === undefined ? text : verb + text.slice(first.length);
}

function asSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}
