/** The sign-in pages, without scripts. Only pressing the button uses a link up. */
import type { FastifyReply } from "fastify";
import { htmlText } from "../../base/html-text.ts";
import type { Person } from "./person.ts";

/** The link that was followed, and the person it signs in. */
interface SignInView {
  readonly link: string | undefined;
  readonly person: Person | undefined;
  /** The provider's host; undefined without a provider. */
  readonly provider: string | undefined;
}

/** The sign-in page, as a whole document. */
export function signInPage({ link, person, provider }: SignInView): string {
  if (person !== undefined && link !== undefined) return documentOf(form(link, person));
  return documentOf(`${provider === undefined ? "" : providerForm(provider)}${instructions(link)}`);
}

/** The page after a failed sign-in, with the reason. */
export function refusalPage(message: string): string {
  return documentOf(`<p role="alert">${htmlText(message)}</p>
<p><a href="/sign-in">Back to the sign-in page</a></p>`);
}

/** A page that redirects to another. */
export function onwardPage(address: string): string {
  const head = `<meta http-equiv="refresh" content="0; url=${htmlText(address)}">\n`;
  return documentOf(`<p><a href="${htmlText(address)}">Continue</a></p>`, head);
}

function documentOf(main: string, head = ""): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · agtpd</title>
${head}<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
</head>
<body class="sign-in">
<main>
<h1>Sign in</h1>
${main}
</main>
</body>
</html>
`;
}

function form(link: string, { name, role }: Person): string {
  return `<p>As ${htmlText(visible(name))}, ${role}.</p>
<form method="post" action="/sign-in">
<input type="hidden" name="link" value="${htmlText(link)}">
<button type="submit">Sign in</button>
</form>`;
}

function providerForm(provider: string): string {
  return `<form method="post" action="/oidc/sign-in">
<button type="submit">Sign in with ${htmlText(provider)}</button>
</form>
`;
}

function instructions(link: string | undefined): string {
  const fault =
    link === undefined
      ? ""
      : '<p role="alert">This link was used already, is too old, or was made by another node or before the daemon was started.</p>\n';
  return `${fault}<p>On the machine that the daemon runs on, <code>agtpd login</code> prints a link.</p>`;
}

/** Control, direction and invisible characters, except the variation selector that colours an emoji. */
const DECEPTIVE =
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?!(?<=\p{Extended_Pictographic})\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** Returns a stranger's name with deceptive characters escaped. */
function visible(name: string): string {
  return name.replace(DECEPTIVE, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** Sends a page. */
export function sendHtml(reply: FastifyReply, html: string): FastifyReply {
  return reply.type("text/html; charset=utf-8").send(html);
}
