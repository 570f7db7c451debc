/** The frame of every page: heading, placeholder while there is no data, and notices. */
import { type Answer, type ApiError, useApi } from "../api.ts";
import { type ComponentChildren, html, useEffect, useState, type VNode } from "../preact.ts";
import { visible } from "../text.ts";

/** A page with its heading, which gets the focus after navigation. */
export function Page(props: {
  readonly name: string;
  /** Content beside the heading. */
  readonly aside?: ComponentChildren;
  readonly children?: ComponentChildren;
}): VNode {
  useEffect(() => {
    document.title = `${props.name} · agtpd console`;
  }, [props.name]);
  return html`<header class="page-head"><h1 tabindex="-1">${props.name}</h1>${props.aside}</header>
    ${props.children}`;
}

/** Placeholder for data that is loading, missing or refused. */
export function Pending(props: {
  readonly error?: ApiError | undefined;
  /** The kind of thing that was requested. */
  readonly thing?: string;
  readonly reload?: () => void;
}): VNode {
  const { error, thing = "page", reload } = props;
  if (error === undefined) return html`<p class="quiet" role="status">Loading…</p>`;
  if (error.status === 404) return html`<p role="alert">There is no such ${thing} here.</p>`;
  return html`<div class="warning" role="alert">
    <p>${visible(error.message)}</p>
    ${reload && html`<button type="button" onClick=${reload}>Try again</button>`}
  </div>`;
}

/** Shows data once loaded; a failed reload is reported above it. */
export function loaded<T>(
  { data, error, reload }: Answer<T>,
  view: (data: T, reload: () => void) => VNode,
  thing?: string,
): VNode {
  const pending = html`<${Pending} error=${error} thing=${thing} reload=${reload} />`;
  if (data === undefined) return pending;
  return html`${error !== undefined && pending}${view(data, reload)}`;
}

/** The page of one thing or of a list: heading, link back, and a view of the data. */
export function answerPage<T>(
  name: string,
  path: string,
  view: (data: T, reload: () => void) => VNode,
  { thing, back }: { readonly thing?: string; readonly back?: VNode } = {},
): VNode {
  return html`<${Page} name=${name}>${back && html`<p>${back}</p>`}
    ${loaded(useApi<T>(path), view, thing)}<//>`;
}

/** A section with its own heading. */
export function Section(props: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children?: ComponentChildren;
}): VNode {
  return html`<section>
    <div class="section-head"><h2>${props.title}</h2>${props.aside}</div>
    ${props.children}
  </section>`;
}

interface Said {
  readonly text: string;
  readonly isFault: boolean;
}

const NEWS = "console:said";

/** Shows a notice about the result of an action. */
export function say(text: string, isFault = false): void {
  dispatchEvent(new CustomEvent<Said>(NEWS, { detail: { text, isFault } }));
}

/** The place of notices; there is one on the page. */
export function Notice(): VNode {
  const [said, setSaid] = useState<Said | undefined>(undefined);
  useEffect(() => {
    const update = (event: Event): void => setSaid((event as CustomEvent<Said>).detail);
    addEventListener(NEWS, update);
    return () => removeEventListener(NEWS, update);
  }, []);
  const dismiss = html`<button type="button" onClick=${() => setSaid(undefined)}>Dismiss</button>`;
  return html`<div role="status" aria-live="polite" class="notice">
    ${said && html`<p class=${said.isFault ? "warning" : "done"}>${visible(said.text)} ${dismiss}</p>`}
  </div>`;
}
