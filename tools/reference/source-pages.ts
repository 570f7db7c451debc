/**
 * The pages of the reference that are generated from source code: metrics, log events, and the
 * interface of handlers. Their descriptions are those in the code.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { handlerShapes } from "./handler-shapes.ts";
import { code, type Found, table } from "./source-table.ts";

const METRICS = new Set(["Counter", "Gauge", "Histogram", "Summary"]);
const LEVELS = new Set(["debug", "info", "warn", "error", "fatal"]);
/** Excluded: events for browsers, and types that merely mention an event. */
const OTHER_EVENTS = /^src\/modules\/(?:openwop\/http|console\/page)\//;

/** The text of each page by its file below docs/reference. */
export function sourcePages(): ReadonlyMap<string, string> {
  const metrics: Found = new Map();
  const events: Found = new Map();
  for (const file of sourceFiles("src")) {
    const text = readFileSync(file, "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
    const visit = (node: ts.Node): void => {
      readMetric(node, metrics);
      if (!OTHER_EVENTS.test(file)) readLogEvent(node, events);
      ts.forEachChild(node, visit);
    };
    if (/\bevent\b|new (?:Counter|Gauge|Histogram|Summary)\(/.test(text)) visit(source);
  }
  return new Map([
    ["metrics.md", `${METRICS_PAGE}${table(["metric", "kind", "labels", "meaning"], metrics)}`],
    ["events.md", `${EVENTS_PAGE}${table(["event", "level", "message", "fields"], events)}`],
    ["handlers.md", `${HANDLERS_PAGE}${handlerShapes()}`],
  ]);
}

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join(folder, name).replaceAll("\\", "/"))
    .toSorted();
}

function readMetric(node: ts.Node, found: Found): void {
  if (!ts.isNewExpression(node) || !ts.isIdentifier(node.expression)) return;
  const kind = node.expression.text;
  const [options] = node.arguments ?? [];
  if (!METRICS.has(kind) || options === undefined || !ts.isObjectLiteralExpression(options)) return;
  const name = textAt(options, "name");
  if (name === undefined) return;
  const labels = memberOf(options, "labelNames");
  const names =
    labels !== undefined && ts.isArrayLiteralExpression(labels)
      ? labels.elements.filter(ts.isStringLiteral).map(({ text }) => code(text))
      : [];
  found.set(name, [kind.toLowerCase(), names.join(" "), textAt(options, "help") ?? ""]);
}

function readLogEvent(node: ts.Node, found: Found): void {
  if (!ts.isObjectLiteralExpression(node)) return;
  const call = ts.isCallExpression(node.parent) ? node.parent : undefined;
  const named = call && ts.isPropertyAccessExpression(call.expression) && call.expression.name.text;
  const isLine = named && LEVELS.has(named);
  const event = textAt(node, "event");
  if (event === undefined) {
    const isComputed = node.properties.some(({ name }) => name?.getText() === "event");
    if (isLine && isComputed) throw new Error(`the event of a line is no text: ${node.getText()}`);
    return;
  }
  const level = isLine ? named : textAt(node, "level");
  const said = call?.arguments.slice(1).find(ts.isStringLiteral)?.text ?? textAt(node, "message");
  const fields = node.properties
    .map((property) => property.name?.getText() ?? "")
    .filter((name) => !["", "event", "level", "message", "fields"].includes(name));
  const known = found.get(event);
  const [levels = "", message = said ?? "", before = ""] = known ?? [];
  found.set(event, [
    joined(levels, level === undefined ? [] : [level], ", "),
    // A message that varies is not shown.
    message === (said ?? "") ? message : "",
    joined(before, fields.map(code), " "),
  ]);
}

/** Appends items to a list, without duplicates, in order. */
function joined(list: string, more: readonly string[], separator: string): string {
  const items = [...list.split(separator), ...more].filter((item) => item !== "");
  return [...new Set(items)].toSorted().join(separator);
}

function memberOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = object.properties.find((one) => one.name?.getText() === name);
  return property !== undefined && ts.isPropertyAssignment(property)
    ? property.initializer
    : undefined;
}

function textAt(object: ts.ObjectLiteralExpression, name: string): string | undefined {
  const value = memberOf(object, name);
  return value !== undefined && ts.isStringLiteral(value) ? value.text : undefined;
}

const MADE = "<!-- Made by `npm run reference` from the sources. -->";

const METRICS_PAGE = `# Metrics

${MADE}

What \`GET /metrics\` answers where \`[metrics] enabled = true\`; several workers' are summed, with their parent's as a process. A node of
[several](../cluster.md) has others beside. [Into production](../production.md) says which of them deserve a page in the night.

`;

const EVENTS_PAGE = `# Events of the log

${MADE}

A line of the log is a JSON object with \`level\`, \`time\` and \`message\`, and mostly with \`event\`: what handlers log, and what goes wrong with a call, is without one where
\`endpoint\` says whose line it is. The level is empty where the line's own reason decides it, the message where it is put together. A line may have more fields than are
named here.

Each request that was answered is a line as well, without a message: \`request\`, of level info, and written whatever \`--log-level\` says where its status is one that
AGTP alone has (261 to 263, 455 to 464, 550, 551). It has \`method\` and \`path\` as they were sent (\`answered_as\` where an alias
was), \`status\`, \`duration_ms\`, of a refusal its \`code\`, \`agent_id\`, \`response_id\` and \`remote\`, and where the request has them \`request_id\`, \`task_id\`, \`session_id\`
and \`trace_id\`; of a fault \`error_id\`. Octets that are no request have \`status\`, \`code\`, \`response_id\` and \`remote\` alone.

`;

const HANDLERS_PAGE = `# What a handler is given, and gives

${MADE}

A handler is a function of one call: \`import type { Call, Handler } from "agtpd"\`. It returns a result, or a promise of one; a throw is a fault, answered
with an opaque 500. What each status means: [statuses](statuses.md). A module that opens something as it is loaded exports \`onClose\`, which
[is called](../production.md#a-reload) when it is needed no more.
`;
