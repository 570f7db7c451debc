/** The files of the console's page, read once. */

/** A file as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** The document of every page, and the files below `/page/` by their paths there. */
export interface PageFiles {
  readonly shell: PageFile;
  readonly files: ReadonlyMap<string, PageFile>;
}

const SHELL = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>agtpd</title></head>
<body><main><h1>agtpd</h1><p>This build has no pages; what they would show is under <code>/api/</code>.</p></main></body>
</html>
`;

/** Reads them all. */
export async function loadPageFiles(): Promise<PageFiles> {
  return {
    shell: { type: "text/html; charset=utf-8", body: Buffer.from(SHELL) },
    files: new Map(),
  };
}
