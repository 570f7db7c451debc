/** Hostile text, and what of it became more than text on a page. */

/** Whoever shows it in any other way than as text runs one of its parts; the first fit into a name. */
export const PROGRAMS: string = [
  "</dd><script>window.hacked=1</script>",
  `"' autofocus onfocus=window.hacked=1 x='"><img src=x onerror=window.hacked=1>`,
  `<svg/onload="window.hacked=1">`,
  `javascript:window.hacked=1//<a href="javascript:window.hacked=1">x</a>`,
  "$\u007bwindow.hacked=1} {{window.hacked=1}} <%= window.hacked=1 %> &lt;img&gt; &#60;",
].join(" ");
/** Marks of direction, and characters that are not seen. */
export const MARKS =
  "paid \u202e\u2066eur 01\u2069\u202c \u200b\u2028 \u061c bo\u00adok\u3164\u{e0101} \u26a0\ufe0f 7\ufe0f end";

/** Characters that no page may show as they are. */
export const DECEPTIVE =
  "[\\u2028\\u2029]|(?!(?<=\\u26a0)\\ufe0f)\\p{Default_Ignorable_Code_Point}";

/** What of it became more than text, as the page tells. */
export const HARM: string = `(() => {
  const main = document.querySelector("main");
  const elements = [...main.querySelectorAll("*")];
  const attributes = elements.flatMap((one) => [...one.attributes]);
  const told = attributes.filter(({ name }) => /^(?:title|alt|placeholder|aria-.*)$/.test(name));
  const texts = [document.body.innerText, document.title, ...told.map(({ value }) => value)];
  const strange = "script, img, iframe, object, embed, svg, base, style";
  return {
    hacked: "hacked" in globalThis,
    elements: elements.filter((one) => one.matches(strange)).map((one) => one.outerHTML),
    handlers: attributes.filter(({ name }) => name.startsWith("on")).map(({ name }) => name),
    links: [...main.querySelectorAll("a[href]")]
      .map((one) => one.getAttribute("href"))
      .filter((href) => !/^[/#]/.test(href) || href.startsWith("//")),
    deceptive: /${DECEPTIVE}/u.test(texts.join(" ")),
    wide: document.documentElement.scrollWidth > innerWidth,
  };
})()`;

/** Of a page that is as it should be. */
export const HARMLESS: object = {
  ...{ hacked: false, elements: [], handlers: [], links: [], deceptive: false, wide: false },
};
