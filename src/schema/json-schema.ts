/** A JSON Schema as it is written: keywords, checked by nobody yet.   JSON Schema 2020-12 */

/** A JSON Schema 2020-12, as an object of keywords. */
export type JsonSchema = { readonly [keyword: string]: unknown };
