/** The style of the page of an identity document, in light and in dark. */

/** The one style sheet of the page. */
export const PAGE_STYLE = `
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
