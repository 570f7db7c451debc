/** The extensions of handler modules, in order of preference. */
export const MODULE_EXTENSIONS = [".ts", ".mts", ".js", ".mjs"] as const;
