/** The page that signs somebody in: only pressing its button uses a link up. */
import type { Person } from "./person.ts";

/** The link that was followed, and whom it signs in. */
export interface SignInView {
  readonly link: string | undefined;
  readonly person: Person | undefined;
}

/** A whole document; it has no script. */
export function signInPage({ link, person }: SignInView): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · agtpd</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
</head>
<body class="sign-in">
<main>
<h1>Sign in</h1>
${person === undefined || link === undefined ? instructions(link) : form(link, person)}
</main>
</body>
</html>
`;
}

function form(link: string, { name, role }: Person): string {
  return `<p>As ${escaped(name)}, ${role}.</p>
<form method="post" action="/sign-in">
<input type="hidden" name="link" value="${escaped(link)}">
<button type="submit">Sign in</button>
</form>`;
}

function instructions(link: string | undefined): string {
  const fault =
    link === undefined ? "" : '<p role="alert">This link was used already, or is too old.</p>\n';
  return `${fault}<p>On the machine that the daemon runs on, <code>agtpd login</code> prints a link.</p>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
