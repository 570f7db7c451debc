/** One endpoint: its contract as the manifest shows it, and the schemas of what goes in and comes out. */
import type { EndpointDetail } from "../answers.ts";
import { isObject } from "../approvals/subject.ts";
import { TryPanel } from "../endpoints/try-panel.ts";
import { type Fact, Facts, Json, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { html, type VNode } from "../preact.ts";
import { isOperator } from "../session.ts";
import { visible } from "../text.ts";
import { useApi } from "../use-api.ts";

/** Members that stand elsewhere on the page. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...["method", "path", "description", "semantic", "input", "output"],
  ...["input_schema", "output_schema"],
]);

/** The page at `/endpoints/METHOD/PATH`; `tail` is what stands behind `/endpoints/`, encoded. */
export function EndpointPage({ tail }: { readonly tail: string }): VNode {
  const { data, error, reload } = useApi<EndpointDetail>(`/api/endpoints/${tail}`);
  return html`<${Page} name="Endpoints">
    <p><a href="/endpoints">All endpoints</a></p>
    ${
      data === undefined
        ? html`<${Pending} error=${error} thing="endpoint" reload=${reload} />`
        : html`<${Whole} detail=${data} tail=${tail} />`
    }
  <//>`;
}

function Whole(props: { readonly detail: EndpointDetail; readonly tail: string }): VNode {
  const { detail, tail } = props;
  const { endpoint, input_schema, output_schema } = detail;
  const semantic = isObject(endpoint["semantic"]) ? endpoint["semantic"] : {};
  const facts = Object.entries(endpoint).filter(
    ([name, value]) => !ELSEWHERE.has(name) && !(name in semantic) && value !== null,
  );
  return html`<h2><${Stranger} text=${endpoint["method"]} /> <${Stranger} text=${endpoint["path"]} /></h2>
    ${endpoint["description"] && html`<p><${Stranger} text=${endpoint["description"]} /></p>`}
    <${Section} title="Contract"><${Facts} facts=${[...Object.entries(semantic), ...facts].map(factOf)} /><//>
    ${isOperator() && html`<${Section} title="Try it"><${TryPanel} tail=${tail} impact=${semantic["impact"]} /><//>`}
    <${Section} title="Input"><${Json} value=${input_schema} label="Schema of the input" /><//>
    <${Section} title="Output"><${Json} value=${output_schema} label="Schema of the output" /><//>`;
}

function factOf([name, value]: readonly [string, unknown]): Fact {
  return [wordsOf(name), html`<${Stranger} text=${factText(value)} />`];
}

function wordsOf(name: string): string {
  return visible(name).replaceAll("_", " ");
}

/** Lists, pairs and plain objects as words; what is nested in them as JSON. */
function factText(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(", ");
  if (!isObject(value)) return value;
  return Object.entries(value)
    .map(([name, one]) => `${wordsOf(name)}: ${pairText(one)}`)
    .join(", ");
}

function pairText(value: unknown): string {
  if (typeof value === "string") return value;
  const { method, path } = isObject(value) ? value : {};
  const isPair = typeof method === "string" && typeof path === "string";
  return isPair ? `${method} ${path}` : JSON.stringify(value);
}
