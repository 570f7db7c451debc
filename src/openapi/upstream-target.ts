/** The URL of an operation as a handler table has it: the document's path behind a base URL. */
import { literalText } from "../base/environment.ts";
import { fillTemplate, templatePieces } from "../base/template.ts";

const UNSAFE = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?{}]/gu;

/**
 * The template; `fields` are the names of the path's parameters here, in their order, and `query` is
 * what the program itself adds, which alone may hold variables.
 */
export function upstreamUrl(
  baseUrl: string,
  path: string,
  fields: readonly string[],
  query: readonly string[],
): string {
  const [withQuery = ""] = path.split("#", 1);
  const [plain = "", written = ""] = withQuery.split("?", 2);
  let index = 0;
  const renamed = fillTemplate(encode(plain), () => {
    index += 1;
    return `{${fields[index - 1] ?? ""}}`;
  });
  const filled = renamed.replace(/\{(?!\w+\})|(?<!\{\w+)\}/g, "");
  // A parameter in a query that is part of the path is none of the operation's.
  const own = /[{}]/.test(written) ? "" : encode(written);
  const parts = [literalText(own), ...query];
  const search = parts.filter((part) => part !== "").join("&");
  return `${literalText(baseUrl + filled)}${search === "" ? "" : `?${search}`}`;
}

function encode(text: string): string {
  const whole = text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/%(?![0-9A-Fa-f]{2})/g, "%25");
  return templatePieces(whole)
    .map((piece) =>
      piece.kind === "parameter"
        ? `{${piece.name}}`
        : piece.text.replace(UNSAFE, encodeURIComponent),
    )
    .join("");
}
